// The commands for kinds without versions side by side, with the storefront's search index.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { Views } from '../../../src/engine/views/views.ts';
import { type SearchServer, serveSearch } from '../../../examples/storefront/search/server.ts';
import { cli } from '../../cli/cli.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const OUTSIDE = join(import.meta.dirname, '../../fixtures/outside');
let stage: Stage;
let search: SearchServer;
beforeAll(async () => {
  search = await serveSearch();
  // The sink reads it at each call.
  vi.stubEnv('SEARCH_URL', search.address);
  stage = await openStage({}, OUTSIDE);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  for (const id of ['o1', 'o2'])
    await stage.container('Orders').items.create({
      id,
      storeId: 's1',
      customerId: 'c1',
      type: 'order',
      placedAt: '2026-01-01T10:00:00.000Z',
      cents: 5,
    });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
  await search[Symbol.asyncDispose]();
});

const projections = (...args: string[]) => cli(['projections', ...args, '--pipeline', OUTSIDE]);

it('`projections rebuild` rebuilds an outside sink, shows how far that is, and swaps it', async () => {
  expect((await projections('promote', 'search')).stderr).toContain('rebuild search');
  expect((await projections('drop', 'search', '--yes')).code).toBe(2);
  const dry = await projections('rebuild', 'search', '--dry-run');
  expect(dry.stdout).toMatch(/read 2 documents of Orders\/order\n.*fill another content of the sink of search/);
  expect([...search.index.rows()]).toEqual([]);
  const rebuilt = await projections('rebuild', 'search');
  expect({ code: rebuilt.code, out: rebuilt.stdout }).toMatchObject({
    code: 0,
    out: expect.stringMatching(/search@1 is filled: 2 changes into .*\n.*promote search/),
  });
  const listed = JSON.parse((await projections('list', '--json')).stdout) as { id: string; state: string }[];
  expect(listed.find(({ id }) => id === 'search@1')).toMatchObject({ state: 'filled' });
  expect([...search.index.rows()]).toEqual([]);
  expect((await projections('promote', 'search', '--dry-run')).stdout).toContain('stop applying changes of Orders');
  const promoted = await projections('promote', 'search', '--json');
  expect({ code: promoted.code, value: JSON.parse(promoted.stdout) as unknown }).toMatchObject({
    code: 0,
    value: { projection: 'search@1', previous: null },
  });
  expect(search.index.search('s1', 'order').length).toBe(2);
});

it('a rebuild with parked changes ends with exit code 1 and says where they are; all verbs show the same phase', async () => {
  vi.stubEnv('REFUSED', 'o2');
  const filled = await projections('rebuild', 'search');
  expect(filled.code).toBe(1);
  expect(filled.stdout).toContain('1 change parked: see `millrace dead-letters list --only search-next@1`');
  const letters = (...args: string[]) =>
    cli(['dead-letters', ...args, '--only', 'search-next@1', '--pipeline', OUTSIDE]);
  expect((await letters('list')).stdout).toContain('It refuses o2');
  expect((await letters('redrive')).stdout).toContain('`millrace projections rebuild search` redrives it');
  expect((await projections('show', 'search')).stdout).toMatch(/ filled: version 1, into search-1-\d+, since /);
  for (const listed of [await projections('list'), await cli(['status', '--pipeline', OUTSIDE])])
    expect(listed.stdout).toMatch(/search@1 .*filled/);
  expect((await projections('rebuild', 'notes')).code).toBe(1);
  vi.stubEnv('REFUSED', '');
  const { stdout: said } = await cli(['doctor', '--pipeline', OUTSIDE]);
  expect(said).not.toContain('never built');
  expect((await projections('rebuild', 'search')).code).toBe(0);
  expect((await projections('drop', 'search', '--yes')).code).toBe(0);
});

it('a dry run of a rebuild says what the run does where another version was begun', async () => {
  const views = new Views(stage.services.place.state, 'outside');
  const staged = {
    version: 7,
    container: 'x',
    type: '',
    reads: [],
    phase: 'filling',
    since: '2026-01-01T10:00:00.000Z',
  } as const;
  for (const name of ['search', 'notes']) await views.change(name, (view) => ({ ...view, staged }));
  expect((await projections('rebuild', 'search', '--dry-run')).stderr).toContain('search@7 has been in a rebuild');
  const { stdout } = await projections('rebuild', 'notes', '--dry-run');
  expect(stdout).toContain('call reset of notes@1');
  expect(stdout).not.toContain('resuming');
  for (const name of ['search', 'notes']) await views.change(name, (view) => ({ ...view, staged: null }));
});

it('a verb refuses what a kind can’t do, with the command that can', async () => {
  const answer = async (...args: string[]) => (await projections(...args)).stderr;
  expect(await answer('replay', 'mail')).toContain('projections rerun mail');
  expect(await answer('rebuild', 'mail')).toContain('mail@1 is a react');
  expect(await answer('verify', 'search', '--key', '["a"]')).toContain('the sink of search is no container');
  expect(await answer('rebuild', 'out')).toContain('projections replay out');
  expect(await answer('rebuild', 'cache')).toMatch(/declares no rebuild.*\n.*projections replay cache/);
  expect(await answer('rebuild', 'boards')).toMatch(/declares no reset.*\n.*projections replay boards/);
  expect((await projections('rebuild', 'notes', '--dry-run')).stdout).toContain('call reset of notes@1');
  expect((await projections('rebuild', 'notes')).stdout).toContain('nothing to promote');
  // As a rebuild in place leaves it that dies at its end.
  const since = '2026-01-01T10:00:00.000Z';
  const staged = { version: 1, container: '', type: '', reads: [], phase: 'filled', since } as const;
  await new Views(stage.services.place.state, 'outside').change('notes', (view) => ({ ...view, staged }));
  expect(await answer('promote', 'notes', '--dry-run')).toContain('notes@1 is a custom');
  expect(await answer('drop', 'notes', '--dry-run')).toContain('projections rebuild notes');
  expect((await projections('rebuild', 'notes')).stdout).toContain('notes@1 is filled (resumed)');
  expect((await projections('rerun', 'out', '--key', '["a"]', '--ids', 'b')).code).toBe(2);
  expect((await projections('rerun', 'out', '--key', '["a"]', '--ids', 'b', '--yes')).stderr).toContain(
    'not a reaction',
  );
  expect(await answer('replay', 'search', '--to', 'hub', '--dry-run')).toContain('is no publish');
  expect(await answer('replay', 'out', '--into', 'Orders', '--dry-run')).toContain('--to HUB');
  expect((await projections('replay', 'out', '--to', 'other', '--dry-run')).stdout).toContain(
    'apply 2 changes to out-side@1 in event hub other again',
  );
});

it('`projections rerun` runs a reaction again only for a list, and only when that is confirmed', async () => {
  const key = '["s1"]';
  expect((await projections('rerun', 'mail', '--dry-run')).stderr).toContain('The documents are not listed');
  expect((await projections('rerun', 'mail', '--key', '[]', '--ids', 'a', '--dry-run')).code).toBe(2);
  expect((await projections('rerun', 'mail', '--key', key, '--ids', 'a')).code).toBe(2);
  expect((await projections('rerun', 'mail', '--key', key, '--ids', 'a,b', '--dry-run')).stdout).toContain(
    'read 2 documents',
  );
  const file = join(await mkdtemp(join(tmpdir(), 'react-')), 'list.jsonl');
  await writeFile(file, `{"key":${key},"id":"o1"}\n\n{"key":${key},"id":"o9"}\n{"key":${key},"id":"o1"}\n`);
  const ran = await projections('rerun', 'mail', '--input', file, '--yes', '--json');
  expect({ code: ran.code, value: JSON.parse(ran.stdout) as unknown }).toMatchObject({
    code: 1,
    value: [
      { id: 'o1', outcome: 'ran' },
      { id: 'o9', outcome: 'missing' },
    ],
  });
  await writeFile(file, 'a\n');
  expect((await projections('rerun', 'mail', '--input', file, '--dry-run')).stderr).toContain('Line 1 of --input');
}, 60_000);
