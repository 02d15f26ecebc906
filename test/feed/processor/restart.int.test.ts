// One processor, started and stopped in the orders that services need. Random orders are in restart.model.
import { ChangeFeedProcessor, type ChangeFeedProcessorOptions, ensureLeaseContainer } from 'millrace/feed';
import { expect, it, onTestFinished } from 'vitest';
import { emulate } from '../../emulator/emulate.ts';

const BRISK = { acquireMs: 20, expirationMs: 2_000, renewMs: 100, pollMs: 10 };

async function stage(options: Partial<ChangeFeedProcessorOptions> = {}) {
  const { database, container } = await emulate();
  const seen: string[] = [];
  const processor = new ChangeFeedProcessor({
    source: container,
    leases: database.container('leases'),
    name: 'P',
    instance: 'a',
    start: 'beginning',
    timings: BRISK,
    handler: (changes) => void seen.push(...changes.map(({ id }) => id)),
    ...options,
  });
  onTestFinished(() => processor.stop());
  const write = (id: string) => container.items.upsert({ id, pk: id });
  return { database, processor, seen, write };
}

it('a start that failed ends its run with the error, and may be repeated', async () => {
  const { database, processor, seen, write } = await stage();
  await write('d0');
  const { closed } = processor;
  await expect(processor.start()).rejects.toMatchObject({
    code: 'lease-container-missing',
    hint: 'Create it with `ensureLeaseContainer`, or correct its name.',
  });
  await expect(closed).rejects.toMatchObject({ code: 'lease-container-missing' });
  await ensureLeaseContainer(database, 'leases');
  await processor.start();
  await processor.drained();
  expect(seen).toEqual(['d0']);
});

it('a stop before a start is complete lets that start resolve, and nothing is read', async () => {
  const { database, processor, seen, write } = await stage();
  await ensureLeaseContainer(database, 'leases');
  await write('d0');
  const starting = processor.start();
  await processor.stop();
  await starting;
  await processor.closed;
  expect([seen, processor.status().leases]).toEqual([[], []]);
  await expect(processor.drained()).rejects.toMatchObject({ code: 'processor-stopped' });
});

it('stop and start twice at one moment leaves one run, which begins when the first has ended', async () => {
  const gate = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const events: string[] = [];
  const { database, processor, write } = await stage({
    handler: async (changes, { signal }) => {
      events.push(`begin ${changes.length}`);
      entered.resolve();
      await gate.promise;
      events.push(`end, ${signal.aborted ? 'lost' : 'owned'}`);
    },
    onAcquired: () => void events.push('acquired'),
    onReleased: ({ reason }) => void events.push(reason),
  });
  await ensureLeaseContainer(database, 'leases');
  await write('d0');
  await processor.start();
  await entered.promise;
  const calls = [processor.stop(), processor.start(), processor.stop(), processor.start()];
  await write('d1');
  gate.resolve();
  await Promise.all(calls);
  await processor.drained();
  expect(events).toEqual(['acquired', 'begin 1', 'end, owned', 'stopped', 'acquired', 'begin 1', 'end, owned']);
});

it('the signal of a run that is over stops no later run', async () => {
  const { database, processor, seen, write } = await stage();
  await ensureLeaseContainer(database, 'leases');
  const first = new AbortController();
  await processor.start({ signal: first.signal });
  await processor.stop();
  await processor.start();
  first.abort();
  await write('d0');
  await processor.drained();
  expect(seen).toEqual(['d0']);
});

it('a processor whose policy stopped it starts again, and repeats what failed', async () => {
  let broken = true;
  const seen: string[] = [];
  const { database, processor, write } = await stage({
    failure: { kind: 'stop', attempts: 1 },
    onError: () => undefined,
    handler: (changes) => {
      if (broken) throw new Error('broken');
      seen.push(...changes.map(({ id }) => id));
    },
  });
  await ensureLeaseContainer(database, 'leases');
  await write('d0');
  await processor.start();
  await expect(processor.closed).rejects.toMatchObject({ code: 'handler-halted' });
  broken = false;
  await processor.start();
  await processor.drained();
  expect(seen).toEqual(['d0']);
});
