// The processor as its users get it, on the embedded server.
import {
  type Change,
  type ChangeContext,
  type ChangeHandler,
  ChangeFeedProcessor,
  type ChangeFeedProcessorOptions,
  LeaseLost,
  type RangePosition,
  readChanges,
} from 'millrace/feed';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { emulate } from '../emulator/emulate.ts';

const BRISK = { acquireMs: 20, expirationMs: 400, renewMs: 100, pollMs: 10 };
const until = <T>(check: () => T | Promise<T>): Promise<T> => vi.waitFor(check, { timeout: 20_000, interval: 5 });
const numbers = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => `d${from + n}`);

async function stage({ partitions = 1 } = {}) {
  const { emulator, database, container } = await emulate({ throughput: 6_000 * partitions });
  const { container: leases } = await database.containers.create({ id: 'leases', partitionKey: '/id', defaultTtl: -1 });
  const write = async (ids: readonly string[], more: object = {}): Promise<void> => {
    for (const id of ids) await container.items.upsert({ id, pk: id, ...more });
  };
  const open = (options: Partial<ChangeFeedProcessorOptions> & { readonly handler?: ChangeHandler } = {}) => {
    const changes: Change[] = [];
    const contexts: ChangeContext[] = [];
    const processor = new ChangeFeedProcessor({
      source: container,
      leases,
      name: 'P',
      instance: 'a',
      start: 'beginning',
      ...options,
      timings: { ...BRISK, ...options.timings },
      handler: async (given, context) => {
        await options.handler?.(given, context);
        changes.push(...given);
        contexts.push(context);
      },
    });
    onTestFinished(() => processor.stop());
    return { processor, changes, contexts, ids: () => changes.map(({ id }) => id) };
  };
  const stored = async () => {
    const { resources } = await leases.items
      .query<Record<string, unknown>>('SELECT * FROM c WHERE IS_DEFINED(c.Owner)')
      .fetchAll();
    return resources;
  };
  return { emulator, container, leases, write, open, stored };
}

describe('alone', () => {
  it('a processor hands over every document as it is stored, of whatever type, and goes on after a restart', async () => {
    const { write, open, stored } = await stage({ partitions: 2 });
    await write(numbers(0, 30), { type: 7, nested: { a: 1 } });
    const first = open();
    await first.processor.start();
    await first.processor.drained();
    expect(first.ids().toSorted()).toEqual(numbers(0, 30).toSorted());
    expect(first.changes[0]).toMatchObject({
      container: 'c',
      type: '',
      op: 'upsert',
      version: { epoch: 1 },
      doc: { type: 7, nested: { a: 1 }, _etag: expect.any(String) as string, _ts: expect.any(Number) as number },
    });
    expect(first.contexts[0]).toMatchObject({ leaseToken: expect.stringMatching(/^\d+$/) as string, attempt: 1 });
    await first.processor.stop();
    await first.processor.closed;
    expect((await stored()).map(({ Owner }) => Owner)).toEqual([null, null]);
    await write(['new']);
    const second = open();
    await second.processor.start();
    await second.processor.drained();
    expect(second.ids()).toEqual(['new']);
  });

  it('a processor finds its leases under the names that .NET and Functions use', async () => {
    const { open, stored, container } = await stage();
    const { resource } = await container.read();
    const { resource: database } = await container.database.read();
    const { processor } = open();
    await processor.start();
    const [lease] = await stored();
    expect(lease).toMatchObject({
      id: `P127.0.0.1_${(database as { _rid?: string })._rid}_${(resource as { _rid?: string })._rid}..0`,
      version: 0,
      Owner: 'a',
    });
    await processor.stop();
  });

  it('a processor starts once when it is started twice, starts again after its stop, and stops with a signal', async () => {
    const { open, write } = await stage();
    const { processor, ids } = open();
    await Promise.all([processor.start(), processor.start()]);
    expect(processor.status()).toMatchObject({ known: 1, leases: [{ range: { min: '', max: 'FF' } }] });
    await processor.stop();
    await processor.closed;
    await write(['d']);
    await processor.start();
    await processor.drained();
    expect(ids()).toEqual(['d']);
    await processor.stop();
    const stop = new AbortController();
    const other = open({ instance: 'b' });
    await other.processor.start({ signal: stop.signal });
    stop.abort();
    await other.processor.closed;
    expect(other.processor.status().leases).toEqual([]);
  });

  it('a processor says what is wrong with its options, and with what they name', async () => {
    const { container, leases, open } = await stage();
    const handler = () => undefined;
    const wrong: [object, string][] = [
      [{ handler: 7 }, 'The option handler is no function'],
      [{ instance: ' ' }, 'The option instance is empty'],
      [{ maxItems: 0 }, 'The option maxItems is 0'],
      [{ minLeases: 3, maxLeases: 2 }, 'minLeases is above maxLeases'],
      [{ mode: 'all-versions-and-deletes', start: 'beginning' }, 'start lies in the past'],
      [{ timings: { checkpointMs: -1 } }, 'timings.checkpointMs is -1'],
      [{ timings: { renewMs: 9, expirationMs: 10 } }, 'timings.renewMs leaves no time for a second attempt'],
    ];
    for (const [options, message] of wrong) {
      const all = { source: container, leases, name: 'P', instance: 'a', handler, ...options };
      expect(() => new ChangeFeedProcessor(all as ChangeFeedProcessorOptions)).toThrow(message);
    }
    const nowhere = container.database.container('nowhere');
    await expect(open({ source: nowhere }).processor.start()).rejects.toMatchObject({ code: 'container-missing' });
    await expect(open({ leases: nowhere }).processor.start()).rejects.toMatchObject({
      code: 'lease-container-missing',
    });
    await expect(open({ start: { continuation: 'x' } }).processor.start()).rejects.toMatchObject({
      code: 'continuation-invalid',
    });
    const foreign = JSON.stringify({ rid: 'other', Continuation: [] });
    await expect(open({ start: { continuation: foreign } }).processor.start()).rejects.toMatchObject({
      code: 'continuation-invalid',
    });
  });
});

describe('drained', () => {
  it('what a processor has drained is the whole feed, whichever host has it: also at a host without leases, and at one that wasn’t started', async () => {
    const { write, open, emulator } = await stage();
    await write(numbers(0, 10));
    const gate = Promise.withResolvers<void>();
    const patient = { expirationMs: 600_000, renewMs: 1_000 };
    const a = open({ timings: patient, handler: () => gate.promise });
    await a.processor.start();
    await until(() => expect(a.processor.status().leases).toMatchObject([{ deliveries: 1 }]));
    expect(a.processor.status().leases).toMatchObject([
      { handled: 0, inHand: { changes: 10, since: expect.any(Number) as number }, rejection: undefined },
    ]);
    const b = open({ instance: 'b', timings: patient });
    await b.processor.start();
    expect(b.processor.status().leases).toEqual([]);
    const watching = open({ instance: 'watching', timings: patient });
    const done: string[] = [];
    const waiting = [a, b, watching].map(async ({ processor }, n) => {
      await processor.drained();
      done.push(`${n} saw ${a.ids().length}`);
    });
    const listings = (): number => emulator.stats().requests['query'] ?? 0;
    const before = listings();
    await until(() => expect(listings()).toBeGreaterThan(before + 10));
    expect(done).toEqual([]);
    gate.resolve();
    await Promise.all(waiting);
    expect(done.toSorted()).toEqual(['0 saw 10', '1 saw 10', '2 saw 10']);
    expect(a.processor.status().leases).toMatchObject([{ handled: 10, inHand: undefined }]);
  });

  it('`drained` is no more to be had from a processor that stops, or was stopped', async () => {
    const { write, open } = await stage();
    await write(['d']);
    const gate = Promise.withResolvers<void>();
    const { processor } = open({ handler: () => gate.promise });
    await processor.start();
    const drained = processor.drained();
    drained.catch(() => undefined);
    const stopped = processor.stop();
    gate.resolve();
    await stopped;
    await expect(drained).rejects.toMatchObject({ code: 'processor-stopped' });
    await expect(processor.drained()).rejects.toMatchObject({ code: 'processor-stopped' });
  });
});

describe('where it starts', () => {
  it('a processor starts at a checkpoint of another processor, or at an iterator’s token', async () => {
    const { write, open, container, emulator } = await stage();
    await write(numbers(0, 10));
    const first = open();
    await first.processor.start();
    await first.processor.drained();
    await first.processor.stop();
    const checkpoint = await first.processor.checkpoint();
    const iterator = container.items.getChangeFeedIterator({ maxItemCount: 100 });
    const { continuationToken: continuation } = await iterator.readNext();
    // The positions stay good for the parts.
    emulator.split('d/c');
    await write(numbers(10, 20));
    const second = open({ name: 'Q', start: { checkpoint } });
    const third = open({ name: 'R', start: { continuation } });
    for (const { processor, ids } of [second, third]) {
      await processor.start();
      await processor.drained();
      expect(ids().toSorted()).toEqual(numbers(10, 20).toSorted());
    }
  });

  it('a processor starts now, and then a range whose lease has no position begins where the processor first did', async () => {
    const { write, open, leases, stored, emulator } = await stage({ partitions: 2 });
    await write(numbers(0, 10));
    emulator.freeze(true);
    const first = open({ start: 'now' });
    await first.processor.start();
    await until(async () => expect((await stored()).every(({ ContinuationToken }) => ContinuationToken)).toBe(true));
    await first.processor.stop();
    emulator.advance(5_000);
    await write(numbers(10, 40));
    for (const { id } of await stored()) await leases.item(String(id), String(id)).delete();
    const second = open({ start: 'now' });
    await second.processor.start();
    await until(() => expect(second.ids()).toEqual(expect.arrayContaining(numbers(10, 40))));
  });

  it('a processor starts at a time though partitions were merged, which the service refuses', async () => {
    const { write, open, emulator } = await stage({ partitions: 2 });
    emulator.freeze(true);
    await write(numbers(0, 20));
    emulator.advance(10_000);
    const start = new Date(Date.now() + 5_000);
    await write(numbers(20, 40));
    emulator.merge('d/c');
    const { processor, ids } = open({ start });
    await processor.start();
    await processor.drained();
    expect(ids()).toEqual(expect.arrayContaining(numbers(20, 40)));
    expect(ids().length).toBeLessThan(40);
  });
});

describe('inside a range', () => {
  it('different keys are handled at once, one key in order, and the checkpoint waits for the slowest', async () => {
    const { container, open, stored } = await stage();
    for (let v = 0; v < 3; v++)
      for (const pk of ['slow', 'x', 'y']) await container.items.upsert({ id: `${pk}${v}`, pk });
    const hold = Promise.withResolvers<void>();
    const seen: string[] = [];
    const { processor } = open({
      order: 'partition-key',
      handler: async (changes) => {
        if (changes[0]?.key[0] === 'slow') await hold.promise;
        seen.push(...changes.map(({ id }) => id));
      },
    });
    await processor.start();
    await until(() => expect(seen.toSorted()).toEqual(['x0', 'x1', 'x2', 'y0', 'y1', 'y2']));
    expect((await stored())[0]?.['ContinuationToken'] ?? null).toBeNull();
    hold.resolve();
    await until(async () => expect((await stored())[0]?.['ContinuationToken']).toBe('"9"'));
    expect(seen.slice(6)).toEqual(['slow0', 'slow1', 'slow2']);
  });

  it('a handler acknowledges by hand, item by item, and repeats what wasn’t', async () => {
    const { write, open, stored } = await stage();
    await write(numbers(0, 5));
    const given: Change[] = [];
    const first = open({
      checkpoint: 'manual',
      handler: async (changes, context) => {
        given.push(...changes);
        await context.checkpoint(changes[1] ?? []);
        await context.checkpoint(changes[0] ?? []);
      },
    });
    await first.processor.start();
    await until(async () => expect((await stored())[0]?.['ContinuationToken']).toBe('"2"'));
    await first.processor.stop();
    await expect(first.contexts[0]?.checkpoint()).rejects.toBeInstanceOf(LeaseLost);
    const second = open();
    await second.processor.start();
    await second.processor.drained();
    expect(second.ids()).toEqual(['d2', 'd3', 'd4']);
  });

  it('a processor gives the lease up where something stays unacknowledged for too long, and says so', async () => {
    const { write, open } = await stage();
    await write(['d']);
    const { processor, contexts } = open({ checkpoint: 'manual', timings: { unacknowledgedMs: 150 } });
    await processor.start();
    await until(() => expect(contexts).toHaveLength(1));
    await until(() => expect(contexts[0]?.signal.reason).toMatchObject({ code: 'lease-lost' }));
    expect(String(contexts[0]?.signal.reason)).toContain('acknowledging a change has taken more than 0.15 s');
    await until(() => expect(contexts.length, 'handed over again').toBeGreaterThan(1));
  });
});

describe('a handler that throws', () => {
  const poisoned = (ids: readonly string[]) => (changes: readonly Change[]) => {
    const bad = changes.find(({ id }) => ids.includes(id));
    if (bad) throw new Error(`can't take ${bad.id}`);
  };

  it('a handler that throws has what it can’t take parked, and only that', async () => {
    const { write, open } = await stage();
    await write(numbers(0, 20));
    const parked: [string, string][] = [];
    const { processor, ids } = open({
      handler: poisoned(['d3', 'd17']),
      failure: { kind: 'park', attempts: 1, park: ({ id }, error) => void parked.push([id, (error as Error).message]) },
    });
    await processor.start();
    await processor.drained();
    expect(parked).toEqual([
      ['d3', "can't take d3"],
      ['d17', "can't take d17"],
    ]);
    expect(ids().toSorted()).toEqual(
      numbers(0, 20)
        .filter((id) => id !== 'd3' && id !== 'd17')
        .toSorted(),
    );
  });

  it('a handler that throws stops the processor where its policy says so, with nothing skipped', async () => {
    const { write, open, stored } = await stage();
    await write(numbers(0, 3));
    const attempts: number[] = [];
    const { processor } = open({
      maxItems: 1,
      handler: (changes, { attempt }) => {
        if (changes[0]?.id === 'd1') attempts.push(attempt);
        poisoned(['d1'])(changes);
      },
      failure: { kind: 'stop', attempts: 2 },
    });
    await processor.start();
    await expect(processor.closed).rejects.toMatchObject({
      code: 'handler-halted',
      message: expect.stringContaining("can't take d1") as string,
    });
    expect(attempts).toEqual([1, 2]);
    expect(await stored()).toMatchObject([{ Owner: null, ContinuationToken: '"1"' }]);
  });

  it('a handler that throws has a deadline, after which its signal is aborted', async () => {
    const { write, open } = await stage();
    await write(['d']);
    const reasons: unknown[] = [];
    const { processor, ids } = open({
      handlerTimeoutMs: 30,
      handler: async (_changes, { signal }) => {
        if (reasons.length > 0) return;
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        reasons.push(signal.reason);
        signal.throwIfAborted();
      },
    });
    await processor.start();
    await until(() => expect(ids()).toEqual(['d']));
    expect(reasons).toMatchObject([{ code: 'handler-timeout' }]);
  });

  it('a handler that hangs does not keep stop() for longer than it may take', async () => {
    const { write, open } = await stage();
    await write(['d']);
    const entered = Promise.withResolvers<AbortSignal>();
    const { processor } = open({
      timings: { stopMs: 200 },
      handler: (_changes, { signal }) => {
        entered.resolve(signal);
        return new Promise(() => undefined);
      },
    });
    await processor.start();
    const signal = await entered.promise;
    await processor.stop();
    expect(signal.aborted).toBe(true);
  });
});

describe('reading without leases', () => {
  it('a reader without leases reads to the end, goes on at a checkpoint, and follows splits', async () => {
    const { container, write, emulator } = await stage({ partitions: 2 });
    await write(numbers(0, 40));
    const found: string[] = [];
    let checkpoint: readonly RangePosition[] = [];
    for await (const page of readChanges(container, { maxItems: 7 })) {
      found.push(...page.changes.map(({ id }) => id));
      checkpoint = page.checkpoint;
      if (found.length > 10 && found.length < 20) emulator.split('d/c');
    }
    expect(found.toSorted()).toEqual(numbers(0, 40).toSorted());
    await write(['new']);
    const more: string[] = [];
    for await (const page of readChanges(container, { from: { checkpoint } }))
      more.push(...page.changes.map(({ id }) => id));
    expect(more).toEqual(['new']);
  });

  it('a reader without leases ends with what there was when it began, though it is written on', async () => {
    const { container, write } = await stage();
    await write(numbers(0, 10));
    const found: string[] = [];
    for await (const { changes } of readChanges(container, { maxItems: 3 })) {
      found.push(...changes.map(({ id }) => id));
      await write(numbers(10 * found.length, 10 * found.length + 10));
      expect(found.length).toBeLessThan(30);
    }
    expect(found.slice(0, 10).toSorted()).toEqual(numbers(0, 10).toSorted());
  });

  it('a reader without leases follows the feed until its signal is aborted', async () => {
    const { container, write } = await stage();
    const stop = new AbortController();
    const found: string[] = [];
    const reading = (async () => {
      for await (const { changes } of readChanges(container, { follow: true, pollMs: 5, signal: stop.signal }))
        found.push(...changes.map(({ id }) => id));
    })();
    reading.catch(() => undefined);
    await write(['a']);
    await until(() => expect(found).toEqual(['a']));
    await write(['b']);
    await until(() => expect(found).toEqual(['a', 'b']));
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
  });
});
