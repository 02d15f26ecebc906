// The page that tells the way of a change tells the way that a change goes.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { draw, fileOf, readWays } from '../../scripts/way-of-a-change.ts';
import type { Stop } from '../support/way/stops.ts';

const ROOT = join(import.meta.dirname, '../..');
const ways = readWays(readFileSync(join(ROOT, 'docs/way-of-a-change.md'), 'utf8'));
/** A projection may commit more than once. */
const SINK = 'sinks/';

async function walk(kind: string): Promise<Stop[]> {
  const watched = join(ROOT, 'test/support/way/watched.ts');
  const program = join(ROOT, 'test/support/way/walk.ts');
  const flags = ['--no-warnings', '--conditions=millrace-source', '--import', watched, program, kind];
  const { stdout } = await promisify(execFile)(process.execPath, flags, { cwd: ROOT });
  return JSON.parse(stdout) as Stop[];
}

test('it tells of a copy and of an aggregate', () => expect([...ways.keys()]).toEqual(['copy', 'aggregate']));

describe.each([...ways])('%s', (kind, rows) => {
  test('a change meets exactly these functions, in this order', async () => {
    const told = rows.map(({ file, name }) => ({ file: `src/${file}`, name }));
    expect(await walk(kind)).toEqual(told);
  });

  test('it has at most 20 stops, and meets no file twice but the sink', () => {
    expect(rows.length).toBeLessThanOrEqual(20);
    const files = rows.map(({ file }) => file).filter((file) => !file.startsWith(SINK));
    expect(files).toEqual([...new Set(files)]);
  });

  test('the picture is drawn from the table', () =>
    expect(readFileSync(join(ROOT, 'docs', fileOf(kind)), 'utf8')).toBe(draw(kind, rows)));
});
