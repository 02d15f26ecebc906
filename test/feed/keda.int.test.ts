// KEDA's scaler `azure-cosmosdb` (2.21), as its page and its source describe its rule (ASM-F30), on the leases that our
// processor wrote. The scaler itself is asked by `npm run check:clients -- --only keda`.
import { ChangeFeedPolicy, ChangeFeedRetentionTimeSpan, type Container } from '@azure/cosmos';
import { ChangeFeedProcessor, type ChangeFeedProcessorOptions } from 'millrace/feed';
import { expect, it, onTestFinished, vi } from 'vitest';
import { leaseNameOf } from '../../src/runtime/hosts/processor-name.ts';
import { emulate, signedHeaders } from '../emulator/emulate.ts';
import type { Emulator } from '../../src/emulator/index.ts';

const BRISK = { acquireMs: 20, expirationMs: 400, renewMs: 100, pollMs: 10 };
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });

interface ScalerLease {
  readonly id: string;
  readonly LeaseToken?: string;
  readonly ContinuationToken?: string | null;
  readonly version?: number;
}

/** What the scaler would count: the lag of each lease, and `'split'` for a lease whose range is gone. */
async function scaled(
  emulator: Emulator,
  leases: Container,
  { container, name }: { readonly container: string; readonly name: string },
): Promise<(number | 'split')[]> {
  const account = new URL(emulator.endpoint).hostname.split('.')[0] ?? '';
  const { resources } = await leases.items.readAll<ScalerLease>().fetchAll();
  const own = resources.filter(({ id, LeaseToken }) => LeaseToken && id.startsWith(`${name}${account}.`));
  // 2.21 sends the token of a lease as the id of a physical partition, so it needs leases of this version.
  expect(own.every(({ version }) => version === 0)).toBe(true);
  return Promise.all(
    own.map(async ({ LeaseToken = '', ContinuationToken: at }) => {
      const link = `dbs/d/colls/${container}`;
      const answer = await fetch(new URL(`/${link}/docs`, emulator.endpoint), {
        headers: {
          ...signedHeaders(emulator, 'GET', 'docs', link),
          'a-im': 'Incremental feed',
          'x-ms-version': '2018-12-31',
          'x-ms-max-item-count': '1',
          'x-ms-documentdb-partitionkeyrangeid': LeaseToken,
          ...(at && { 'if-none-match': at }),
        },
      });
      if (answer.status === 410 && answer.headers.get('x-ms-substatus') === '1002') return 'split';
      if (answer.status === 304) return 0;
      const { Documents: documents } = (await answer.json()) as { Documents: { _lsn: number }[] };
      const newest = Number(answer.headers.get('x-ms-session-token')?.split('#').at(-1));
      return documents[0] ? newest - documents[0]._lsn + 1 : 0;
    }),
  );
}

async function stage(mode: 'latest-version' | 'all-versions-and-deletes') {
  const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(10));
  const { emulator, database, container } = await emulate({ changeFeedPolicy });
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const write = async (from: number, to: number): Promise<void> => {
    for (let n = from; n < to; n++) await container.items.upsert({ id: `d${n}`, pk: `d${n}` });
  };
  const nameOf = ({ id }: Container): string => leaseNameOf({ name: 'shop', sources: [] }, id, {});
  /** From the start of a host until nothing is left. */
  const run = async (source = container): Promise<void> => {
    const options = { source, leases, name: nameOf(source), instance: 'a', start: 'now', timings: BRISK, mode };
    const processor = new ChangeFeedProcessor({
      ...options,
      handler: () => undefined,
    } as unknown as ChangeFeedProcessorOptions);
    onTestFinished(() => processor.stop());
    await processor.start();
    const parts = (await source.getFeedRanges()).length;
    await until(() => expect(processor.status().leases).toHaveLength(parts));
    await until(() => expect(processor.status().leases.map(({ position }) => position)).not.toContain(undefined));
    await processor.drained();
    await processor.stop();
  };
  const lags = (of = container) => scaled(emulator, leases, { container: of.id, name: nameOf(of) });
  return { emulator, database, container, write, run, lags };
}

it.each(['latest-version', 'all-versions-and-deletes'] as const)(
  'the scaler wakes a processor of the mode %s that was scaled to zero, over splits, and sees when it is done',
  async (mode) => {
    const { emulator, write, run, lags } = await stage(mode);
    expect(await lags(), 'no lease yet: a first host has to run once').toEqual([]);
    await run();
    expect(await lags()).toEqual([0]);
    await write(0, 12);
    expect(await lags()).toEqual([12]);
    emulator.split('d/c');
    expect(await lags(), 'a lease whose range is gone wakes one host').toEqual(['split']);
    await run();
    expect(await lags()).toEqual([0, 0]);
    await write(12, 20);
    const after = await lags();
    expect(after.reduce<number>((sum, lag) => sum + Number(lag), 0)).toBe(8);
  },
);

it('the scaler counts the leases of its container alone, whose positions mean nothing in another one', async () => {
  const { database, write, run, lags } = await stage('latest-version');
  const { container: quiet } = await database.containers.create({ id: 'quiet', partitionKey: '/pk' });
  await run(quiet);
  await run();
  await write(0, 12);
  await run();
  expect([await lags(), await lags(quiet)]).toEqual([[0], [0]]);
});

it('the scaler sees no deletion, so a processor of all versions that waits for nothing else sleeps on', async () => {
  const { container, write, run, lags } = await stage('all-versions-and-deletes');
  await run();
  await write(0, 3);
  await run();
  await container.item('d1', 'd1').delete();
  expect(await lags()).toEqual([0]);
});
