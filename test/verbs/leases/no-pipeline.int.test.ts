// The verbs of leases for those who have a processor and no pipeline: nothing but the settings of the account.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChangeFeedProcessor } from 'millrace/feed';
import { expect, it, onTestFinished, vi } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import { leasePrefix } from '../../../src/feed/leases/cosmos-lease-store.ts';
import { writeDocument } from '../../../src/feed/leases/dialects/write.ts';
import { leasesExport } from '../../../src/verbs/leases/export.operation.ts';
import { leasesImport } from '../../../src/verbs/leases/import.operation.ts';
import { leasesList } from '../../../src/verbs/leases/list.operation.ts';
import { leasesRewind } from '../../../src/verbs/leases/rewind.operation.ts';
import type { Operation } from '../../../src/verbs/operation.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { emulate } from '../../emulator/emulate.ts';
import { SteppingClock } from './lease-world.ts';

async function world() {
  const { emulator, database, container } = await emulate();
  const { container: leases } = await database.containers.create({
    id: 'positions',
    partitionKey: '/id',
    defaultTtl: -1,
  });
  const directory = mkdtempSync(join(tmpdir(), 'no-pipeline-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const [name, value] of [
    ['COSMOS', emulator.connectionString],
    ['COSMOS_DATABASE', 'd'],
    ['LEASES_CONTAINER', 'positions'],
  ] as const)
    vi.stubEnv(name, value);
  const workspace = openWorkspace({ directory });
  onTestFinished(async () => {
    await workspace.close();
    vi.unstubAllEnvs();
  });
  const shown: string[] = [];
  const screen = { live: false, line: (text: string) => void shown.push(text), draw: () => {}, progress: () => {} };
  const run = async (operation: Operation, input: Record<string, unknown> = {}) => {
    const signal = AbortSignal.timeout(50_000);
    return operation.run(input, { workspace, actor: 'tester', signal, screen, clock: new SteppingClock() });
  };
  const refusal = async (operation: Operation, input?: Record<string, unknown>): Promise<MillraceError> => {
    const error: unknown = await run(operation, input).then(
      () => new Error('It was not refused'),
      (reason: unknown) => reason,
    );
    if (error instanceof MillraceError) return error;
    throw error;
  };
  const [home, of] = [await database.read(), await container.read()];
  const ofJava = leasePrefix('billing', emulator.endpoint, 'd', 'c');
  const ofOthers = leasePrefix('billing', emulator.endpoint, home.resource?._rid ?? '', of.resource?._rid ?? '');
  for (let n = 0; n < 10; n++) await container.items.upsert({ id: `d${n}`, pk: 'p' });
  const range = { min: '', max: 'FF' };
  await leases.items.create(
    writeDocument('java-pk', { prefix: ofJava, partition: '0', range, position: '"6"', owner: null }),
  );
  const file = join(directory, 'billing.jsonl');
  return { container, leases, run, refusal, shown, ofJava, ofOthers, file };
}

it('leases of Java’s handleChanges are listed, exported for the processor, imported, and resumed', async () => {
  const { container, leases, run, shown, ofJava, ofOthers, file } = await world();
  expect(ofJava).not.toBe(ofOthers);
  const { text } = await run(leasesList);
  expect(text).toContain(`${ofJava}  (c)`);
  expect(text).toMatch(/0 +00-FF +\(free\) +"6" .* 4, \d+ s/);
  await run(leasesExport, { prefix: ofJava, dialect: 'dotnet', file });
  expect(readFileSync(file, 'utf8')).toContain(`"id":"${ofOthers}..0"`);
  expect((await run(leasesImport, { file })).text).toBe('1 lease created, 0 moved.');
  expect(shown).toContain('Millrace kept no record of this, because there is no state container.');
  const seen: string[] = [];
  const processor = new ChangeFeedProcessor({
    source: container,
    leases,
    name: 'billing',
    instance: 'a',
    start: 'beginning',
    handler: (changes) => void seen.push(...changes.map(({ id }) => id)),
  });
  onTestFinished(() => processor.stop());
  await processor.start();
  await processor.drained();
  expect(seen, 'what Java had not handled').toEqual(['d6', 'd7', 'd8', 'd9']);
});

it('a file of Java’s leases is imported in another dialect, which has another prefix', async () => {
  const { leases, run, ofJava, ofOthers, file } = await world();
  await run(leasesExport, { prefix: ofJava, file });
  expect(readFileSync(file, 'utf8')).toContain(`"id":"${ofJava}..0"`);
  await run(leasesImport, { file, dialect: 'dotnet' });
  const id = `${ofOthers}..0`;
  const { resource } = await leases.item(id, id).read<Record<string, unknown>>();
  expect(resource).toMatchObject({ version: 0, LeaseToken: '0', ContinuationToken: '"6"', Owner: null });
});

it('leases are rewound by their prefix, and without one the message says what to name', async () => {
  const { leases, run, refusal, ofJava } = await world();
  await run(leasesRewind, { prefix: ofJava, to: '"2"' });
  const { resource } = await leases.item(`${ofJava}..0`, `${ofJava}..0`).read<Record<string, unknown>>();
  expect(resource?.['ContinuationToken']).toBe('"2"');
  expect(await refusal(leasesExport)).toMatchObject({
    code: 'leases-none',
    message: 'There is no pipeline in this folder, so the command does not know which leases to use',
    hint: `Name the leases by their prefix: ${ofJava}.`,
  });
  await leases.delete();
  expect(await refusal(leasesList)).toMatchObject({
    code: 'lease-container-missing',
    hint: 'Create it, or name another container in LEASES_CONTAINER.',
  });
});
