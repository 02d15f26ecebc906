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

it('lets imports point down, and a type circle be', () => {
  const { code, errors } = check({
    'functions/index.ts': `import '../src/host/a.ts';`,
    'src/host/a.ts': `import type { F } from '../feed/f.ts';\nimport { m } from '../model/m.ts';\nexport type A = F; export const a = m;`,
    'src/host/dev.ts': `export const start = () => import('../emulator/index.ts');`,
    'src/feed/f.ts': `import type { G } from './g.ts';\nexport type F = G;`,
    'src/feed/g.ts': `import type { F } from './f.ts';\nexport type G = F;`,
    'src/model/m.ts': `import { b } from '../base/b.ts';\nexport const m = b;`,
    'src/emulator/index.ts': `import { epk } from '../cosmos/epk.ts';\nexport const e = epk;`,
    'src/cosmos/epk.ts': `export const epk = 1;`,
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
  ['up by a re-export', 'src/cosmos/c.ts', `export * from '../sinks/s.ts';`, /cosmos lies below sinks/],
  [
    'from a pure room',
    'src/model/m.ts',
    `import { f } from '../feed/f.ts';`,
    /model is pure and may import base alone/,
  ],
  [
    'of the emulator',
    'src/engine/e.ts',
    `void import('../emulator/index.ts');`,
    /only host\/dev\*, cli and testing may start the emulator/,
  ],
  ['of the emulator at start', 'src/host/dev/d.ts', `import '../../emulator/index.ts';`, /Import it dynamically/],
  ['from the emulator', 'src/emulator/e.ts', `import { retry } from '../cosmos/retry.ts';`, /must not share code/],
  [
    'from a room without a place',
    'src/attic/a.ts',
    `import { b } from '../base/b.ts';`,
    /the room attic isn't in the order/,
  ],
])('refuses an import %s', (_, file, text, message) => {
  const { code, errors } = check({ [file]: text });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(message);
  expect(code).toBe(1);
});

it('finds a circle', () => {
  const { code, errors } = check({
    'src/feed/a.ts': `import './b.ts';`,
    'src/feed/b.ts': `import './c.ts';`,
    'src/feed/c.ts': `\nimport './a.ts';`,
  });
  expect(errors).toEqual([
    expect.stringContaining(
      'src/feed/c.ts:2: imports in a circle: src/feed/a.ts → src/feed/b.ts → src/feed/c.ts → src/feed/a.ts',
    ),
  ]);
  expect(code).toBe(1);
});
