// Runs the flights as the README says, counts them again with other code, and runs them once more on the same data. It
// takes a minute, so it is a step of `npm run verify` and no test. Exit code 1 with the first figure that isn't the README's.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';

const root = join(import.meta.dirname, '..');
const data = mkdtempSync(join(tmpdir(), 'millrace-flights-'));

const summary = z.object({
  loaded: z.object({ loaded: z.number(), rejected: z.number() }),
  projections: z.array(z.object({ projection: z.string(), changes: z.number(), parked: z.number() })),
  archive: z.array(z.object({ archived: z.number(), removed: z.number(), held: z.number() })),
  verification: z.object({
    different: z.number(),
    documents: z.object({ sources: z.number(), found: z.number() }),
  }),
});

function run(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new Error(`node ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
}

function same(what: string, found: unknown, expected: unknown): void {
  const [is, should] = [JSON.stringify(found), JSON.stringify(expected)];
  if (is !== should) throw new Error(`${what}: ${is}, not ${should}`);
  console.log(`${what}: ${is}`);
}

try {
  const dev = ['bin/millrace.mjs', 'dev', '--example', 'flights', '--once', '--json', '--data', data];
  const first = summary.parse(JSON.parse(run(...dev)));
  same('loaded', first.loaded, { loaded: 23_376, rejected: 0 });
  same('archive', first.archive, [{ archived: 6_937, removed: 6_937, held: 0 }]);
  same('verification', first.verification, { different: 0, documents: { sources: 23_376, found: 29_878 } });
  const counted = run('scripts/recount.ts', '--data', data).trimEnd().split('\n');
  same('counted again', counted.at(-1), 'Every document agrees.');
  same('counted again', counted.slice(1, 3), ['6,937 cold', '13,063 hot']);
  const again = summary.parse(JSON.parse(run(...dev)));
  same(
    'run again',
    again.projections.filter(({ changes, parked }) => changes + parked > 0),
    [],
  );
} finally {
  rmSync(data, { recursive: true, force: true });
}
