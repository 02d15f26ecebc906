import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const script = join(import.meta.dirname, '../../scripts/check-imports.ts');
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-imports-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

function check(files: Readonly<Record<string, string>>): { code: number | null; errors: string[] } {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, root], { encoding: 'utf8' });
  return { code: status, errors: stderr.split('\n').filter(Boolean) };
}

it('the check of imports lets imports point down, between rooms and between floors', () => {
  const { code, errors } = check({
    'functions/index.ts': `import '../src/host/a.ts';`,
    'src/host/a.ts': `import type { F } from '../feed/f.ts';\nimport { m } from '../model/m.ts';\nexport type A = F; export const a = m;`,
    'src/host/dev.ts': `export const start = () => import('../emulator/index.ts');`,
    'src/feed/f.ts': `export { p } from './processor/p.ts';\nexport type F = import('./leases/l.ts').L;`,
    'src/feed/processor/p.ts': `import { l } from '../leases/l.ts';\nimport './q.ts';\nexport const p = l;`,
    'src/feed/processor/q.ts': `export * from '../reading/r.ts';`,
    'src/feed/leases/l.ts': `import { r } from '../reading/r.ts';\nexport const l = r;\nexport type L = typeof l;`,
    'src/feed/reading/r.ts': `export const r = 1;`,
    'src/model/m.ts': `import { b } from '../base/b.ts';\nexport const m = b;`,
    'src/emulator/index.ts': `import { epk } from '../cosmos/effective-partition-key.ts';\nexport const e = epk;`,
    'src/cosmos/effective-partition-key.ts': `export const epk = 1;`,
    'src/base/b.ts': `export const b = 1;`,
  });
  expect(errors).toEqual([]);
  expect(code).toBe(0);
});

it.each([
  [
    'up',
    'src/feed/f.ts',
    `\nimport { a } from '../host/a.ts';`,
    /^src\/feed\/f\.ts:2: imports src\/host\/a\.ts: feed lies below host\. Move/,
  ],
  ['up by a type', 'src/base/b.ts', `import type { A } from '../feed/f.ts';`, /base lies below feed/],
  [
    'up by a type inside a type',
    'src/base/b.ts',
    `\n\nexport type B = Promise<typeof import('../feed/f.ts')>;`,
    /b\.ts:3: .*base lies below feed/,
  ],
  ['up to a later time', 'src/jobs/j.ts', `export const late = () => import('../host/h.ts');`, /jobs lies below host/],
  [
    'up a floor',
    'src/feed/reading/r.ts',
    `import type { L } from '../leases/l.ts';`,
    /r\.ts:1: imports src\/feed\/leases\/l\.ts: in src\/feed, reading lies below leases\. Move/,
  ],
  [
    'of the room from a floor',
    'src/feed/sharing/s.ts',
    `export * from '../index.ts';`,
    /sharing lies below src\/feed\/index\.ts/,
  ],
  [
    'from a floor without a place',
    'src/emulator/cosmos/cellar/c.ts',
    `import '../wire/w.ts';`,
    /the floor cellar of src\/emulator\/cosmos isn't in the order/,
  ],
  ['up by a re-export', 'src/cosmos/c.ts', `export * from '../sinks/s.ts';`, /cosmos lies below sinks/],
  [
    'from a pure room',
    'src/model/m.ts',
    `import { f } from '../feed/f.ts';`,
    /model is pure and may import sql-check and base alone/,
  ],
  [
    'of the emulator',
    'src/engine/e.ts',
    `void import('../emulator/index.ts');`,
    /only host\/dev\*, cli and testing may start the emulator/,
  ],
  ['of the emulator at start', 'src/host/dev/d.ts', `import '../../emulator/index.ts';`, /Import it dynamically/],
  [
    'of the emulator by a type',
    'src/engine/e.ts',
    `type E = import('../emulator/index.ts').E;`,
    /may start the emulator/,
  ],
  ['from the emulator', 'src/emulator/e.ts', `import { retry } from '../cosmos/retry.ts';`, /must not share code/],
  [
    'from a room without a place',
    'src/attic/a.ts',
    `import { b } from '../base/b.ts';`,
    /the room attic isn't in the order/,
  ],
])('the check of imports refuses an import %s', (_, file, text, message) => {
  const { code, errors } = check({ [file]: text });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(message);
  expect(code).toBe(1);
});

it.each([
  ['values', `import { a } from './a.ts';`],
  ['types', `import type { A } from './a.ts';`],
  ['types inside types', `export type C = import('./a.ts').A;`],
  ['re-exports', `export * from './a.ts';`],
  ['re-exports of types', `export type { A } from './a.ts';`],
  ['imports at a later time', `export const c = () => import('./a.ts');`],
])('the check of imports finds a circle that %s close', (_, closing) => {
  const { code, errors } = check({
    'src/feed/a.ts': `import './b.ts';`,
    'src/feed/b.ts': `import './c.ts';`,
    'src/feed/c.ts': `\n${closing}`,
  });
  expect(errors).toEqual([
    'src/feed/a.ts:1 → src/feed/b.ts:1 → src/feed/c.ts:2 → src/feed/a.ts: imports in a circle. Take out what both need into a file of its own.',
  ]);
  expect(code).toBe(1);
});

it('the check of imports tells the shortest circle of each group', () => {
  const { errors } = check({
    'src/feed/a.ts': `import './b.ts';`,
    'src/feed/b.ts': `import './c.ts';`,
    'src/feed/c.ts': `import './b.ts';\nimport './a.ts';`,
    'src/access/a.ts': `import './b.ts';\nimport '../feed/a.ts';`,
    'src/access/b.ts': `import './a.ts';`,
  });
  expect(errors.toSorted()).toEqual([
    expect.stringMatching(/^src\/access\/a\.ts:1 → src\/access\/b\.ts:1 → src\/access\/a\.ts: imports in a circle\. /),
    expect.stringMatching(
      /^src\/feed\/b\.ts:1 → src\/feed\/c\.ts:1 → src\/feed\/b\.ts: imports in a circle \(the shortest among 3 files\)/,
    ),
  ]);
});
