import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import type { Container } from '@azure/cosmos';
import { expect, onTestFinished, test } from 'vitest';
import { Journal } from '../../src/emulator/eventhubs/journal.ts';
import { Namespace } from '../../src/emulator/eventhubs/namespace.ts';
import { EMULATOR_KEY } from '../../src/emulator/index.ts';
import { HASH_KEY, refusal } from './emulate.ts';

/** A limit on the size of files stands for a disk that is full: SQLite meets it at the same calls. */
const LIMITED = 'ulimit -S -f 3000; exec "$0" "$@"';

interface Served {
  readonly child: ChildProcess;
  readonly endpoint: string;
  readonly container: Container;
  /** What it said on stderr so far. */
  said(): string;
}

async function serve(folder: string, limited: boolean): Promise<Served> {
  const script = join(import.meta.dirname, 'server-process.ts');
  const command = limited ? ['sh', '-c', LIMITED, process.execPath] : [process.execPath];
  const child = spawn(command[0]!, [...command.slice(1), script, folder], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let text = '';
  child.stderr!.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const [endpoint] = (await once(child, 'message')) as [string];
  const connectionPolicy = {
    retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
  };
  const client = new CosmosClient({ endpoint, key: EMULATOR_KEY, connectionPolicy });
  onTestFinished(() => client.dispose());
  return { child, endpoint, container: client.database('d').container('c'), said: () => text };
}

/** Writes until the disk takes no more; returns the ids that were acknowledged, and the refusal. */
async function fill({ container }: Served): Promise<{ written: string[]; refused: unknown }> {
  const written: string[] = [];
  for (let i = 0; ; i++) {
    const ids = [`${i}a`, `${i}b`, `${i}c`];
    const outcomes = await Promise.allSettled(
      ids.map((id) => container.items.create({ id, pk: 'a', text: 'x'.repeat(50_000) })),
    );
    outcomes.forEach(({ status }, at) => status === 'fulfilled' && written.push(ids[at]!));
    const refused = outcomes.find((outcome) => outcome.status === 'rejected');
    if (refused) return { written, refused: refused.reason };
  }
}

const idsIn = async ({ container }: Served): Promise<string[]> =>
  (await container.items.query<string>('SELECT VALUE c.id FROM c').fetchAll()).resources.toSorted();

const command = (endpoint: string, name: string): Promise<Response> =>
  fetch(new URL(`_millrace/${name}`, endpoint), {
    method: 'POST',
    headers: { authorization: `Bearer ${EMULATOR_KEY}` },
    body: '{}',
  });

async function full(): Promise<{ folder: string; served: Served; written: string[]; refused: unknown }> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-full-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const served = await serve(folder, true);
  const { database } = await served.container.database.client.databases.create({ id: 'd' });
  await database.containers.create({ id: 'c', partitionKey: HASH_KEY });
  return { folder, served, ...(await fill(served)) };
}

test.skipIf(process.platform === 'win32')(
  'a full disk is told to each request, and loses nothing that was answered',
  async () => {
    const { folder, served, written, refused } = await full();
    const told = { code: 503, message: expect.stringContaining("can't be written any more") as string };
    expect(refused).toMatchObject(told);
    expect(written.length).toBeGreaterThan(0);
    // Memory is ahead of the disk: nothing is read from it either, and commands are refused.
    expect(await refusal(idsIn(served))).toMatchObject(told);
    expect((await command(served.endpoint, 'restore')).status).toBe(503);
    expect((await command(served.endpoint, 'stats')).status).toBe(200);
    expect(served.child.exitCode).toBeNull();
    await expect.poll(() => served.said(), { timeout: 20_000 }).toContain('Free space on its disk');
    expect(served.said()).not.toMatch(/^\s+at /m);
    const gone = once(served.child, 'exit');
    served.child.kill('SIGKILL');
    await gone;
    expect(await idsIn(await serve(folder, false))).toEqual(written.toSorted());
  },
);

test.skipIf(process.platform !== 'linux')('it goes on after a restart, once there is room again', async () => {
  const { served, written } = await full();
  const { status } = spawnSync('prlimit', [`--pid=${served.child.pid}`, '--fsize=unlimited:unlimited']);
  expect(status).toBe(0);
  served.child.send('restart');
  await expect.poll(() => idsIn(served).catch(() => undefined), { timeout: 20_000 }).toEqual(written.toSorted());
  await served.container.items.create({ id: 'later', pk: 'a' });
  expect(await idsIn(served)).toEqual([...written, 'later'].toSorted());
});

test.skipIf(process.platform === 'win32')('events that the disk does not take are refused as a whole', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-full-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const script = join(import.meta.dirname, 'hub-journal-process.ts');
  const { stdout } = spawnSync('sh', ['-c', LIMITED, process.execPath, script, folder], { encoding: 'utf8' });
  const { stored, refusal: told } = JSON.parse(stdout) as { stored: number; refusal: string };
  expect(told).toMatch(/^amqp:resource-limit-exceeded: The events can't be written to the data folder: .*Free space/);
  const namespace = new Namespace();
  const [log] = namespace.add('orders', { partitions: 1 }).partitions;
  new Journal(folder).load(namespace);
  // Half of a refused batch would hide what was stored behind it.
  expect(log!.events.length).toBe(stored);
});
