import { cpSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CosmosClient } from '@azure/cosmos';
import { startEmulator, startEventHubs } from '../../src/emulator/index.ts';
import { startPglite } from '../../src/postgres/pglite.ts';
import { HASH_KEY } from './emulate.ts';

let place: string;
const folder = (name: string): string => join(place, name);
const cosmosOf = (name: string): string => join(folder(name), 'cosmos.db');

beforeAll(async () => {
  place = mkdtempSync(join(tmpdir(), 'millrace-damaged-'));
  const emulator = await startEmulator({ data: folder('whole') });
  const { database } = await new CosmosClient(emulator.clientOptions).databases.create({ id: 'd' });
  const { container } = await database.containers.create({ id: 'c', partitionKey: HASH_KEY });
  for (let n = 0; n < 200; n++) await container.items.create({ id: `${n}`, pk: 'a', text: 'x'.repeat(1_000) });
  await emulator.close();
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

/** The bytes at a place of a file become others. */
function garble(file: string, at: number, length: number): void {
  const bytes = readFileSync(file);
  writeFileSync(file, bytes.fill('garbage', at, at + length));
}

describe('a data folder', () => {
  it.each([
    ['truncated', (file: string) => truncateSync(file, 20_000), /damaged: cosmos\.db can't be read: /],
    ['garbage in its middle', (file: string) => garble(file, 30_000, 60_000), /damaged: cosmos\.db can't be read: /],
    [
      'garbage at its head',
      (file: string) => garble(file, 0, 100),
      /damaged: cosmos\.db can't be read: .*not a database/,
    ],
    ['empty', (file: string) => truncateSync(file, 0), /damaged: cosmos\.db is missing or empty/],
    ['missing', (file: string) => rmSync(file), /damaged: cosmos\.db is missing or empty/],
  ])('a damaged file is named, with what to do: %s', async (name, damage, message) => {
    cpSync(folder('whole'), folder(name), { recursive: true });
    damage(cosmosOf(name));
    // Each start says so, the second too.
    for (const _ of [1, 2])
      await expect(startEmulator({ data: folder(name) })).rejects.toMatchObject({
        code: 'unreadable',
        message: expect.stringMatching(message),
        hint: expect.stringContaining('move it away, and start again with an empty one'),
      });
  });

  it('one of a later version is left as it is', async () => {
    cpSync(folder('whole'), folder('later'), { recursive: true });
    const db = new DatabaseSync(cosmosOf('later'));
    db.exec('PRAGMA user_version = 99');
    db.close();
    await expect(startEmulator({ data: folder('later') })).rejects.toMatchObject({
      message: `The data folder ${folder('later')} is of a later version of Millrace`,
    });
  });

  it('the process that has it open is named', async () => {
    const emulator = await startEmulator({ data: folder('whole') });
    await expect(startEmulator({ data: folder('whole') })).rejects.toMatchObject({
      message: `Another process (${process.pid}) has the data folder ${folder('whole')} open`,
    });
    await emulator.close();
  });

  it('events with garbage among them are refused, and nothing of them is removed', async () => {
    const options = { hubs: { h: { partitions: 1 } }, data: folder('hubs') };
    await (await startEventHubs(options)).close();
    const file = join(folder('hubs'), 'events.db');
    const garbage = Buffer.from('garbage where a record was, and more of it than its lengths'.repeat(9));
    writeFileSync(file, garbage);
    await expect(startEventHubs(options)).rejects.toMatchObject({
      code: 'unreadable',
      message: expect.stringMatching(/damaged: events\.db can't be read/),
    });
    expect(readFileSync(file)).toEqual(garbage);
  });

  it('PostgreSQL in WebAssembly says that its files are damaged', async () => {
    const made = await startPglite({ folder: folder('tables') });
    await made[Symbol.asyncDispose]();
    truncateSync(join(folder('tables'), 'global/pg_control'), 10);
    await expect(startPglite({ folder: folder('tables') })).rejects.toMatchObject({
      code: 'unreadable',
      message: expect.stringContaining("damaged: PostgreSQL can't start on its files: "),
    });
  });
});
