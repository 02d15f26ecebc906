import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startEmulator } from '../../src/emulator/index.ts';
import { clientOf, emulate, TWO_LEVELS } from './emulate.ts';

function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

test('what is exported can be imported elsewhere, with keys, policies and throughput', async () => {
  const file = join(scratch(), 'all.jsonl');
  const { emulator, container } = await emulate({ partitionKey: TWO_LEVELS, throughput: 12_000, defaultTtl: -1 });
  const odd = JSON.parse('{"id":"3","t":"ü","u":null,"__proto__":{"x":1}}') as object;
  for (const doc of [{ id: '1', t: 'a', u: 1 }, { id: '2', t: 'a' }, odd]) await container.items.create(doc);
  expect(await emulator.exportTo(file)).toBe(3);
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(5);

  const other = await startEmulator();
  const client = clientOf(other);
  onTestFinished(async () => {
    client.dispose();
    await other.close();
  });
  expect(await other.importFrom(file)).toBe(3);
  const again = client.database('d').container('c');
  const { resource } = await again.read();
  expect(resource).toMatchObject({ partitionKey: TWO_LEVELS, defaultTtl: -1 });
  expect((await again.readPartitionKeyRanges().fetchAll()).resources).toHaveLength(2);
  expect(JSON.stringify((await again.item('3', ['ü', null]).read()).resource)).toContain('"__proto__":{"x":1}');
  const copy = join(scratch(), 'copy.jsonl');
  await other.exportTo(copy);
  expect(readFileSync(copy, 'utf8')).toBe(readFileSync(file, 'utf8'));
});

test('a file of another form is refused with its line', async () => {
  const { emulator } = await emulate();
  const file = join(scratch(), 'bad.jsonl');
  for (const [text, message] of [
    ['{"item":{"id":"1"}}', 'line 1: An item comes before the first container'],
    ['{"database":{"id":"x"}}\n{"nonsense":1}', 'line 2: it has an unknown form'],
    ['{"database":{"id":"d"}}', 'line 1: Entity with the specified id already exists'],
    ['not JSON', 'line 1'],
  ] as const) {
    writeFileSync(file, text);
    await expect(emulator.importFrom(file)).rejects.toThrow(message);
  }
  await expect(emulator.importFrom(join(scratch(), 'none'))).rejects.toThrow("can't be used");
});
