import type { Container } from '@azure/cosmos';
import { describe, expect, it } from 'vitest';
import { failureOf } from '../../src/cosmos/failure.ts';
import { rewrite } from '../../src/cosmos/compare-and-swap.ts';
import { clientOf, emulate } from '../emulator/emulate.ts';

interface Counter {
  readonly id: string;
  readonly pk: string;
  readonly n: number;
}

const AT = { id: 'counter', pk: 'a' };
const counted = (stored?: Counter): Counter => ({ ...AT, n: (stored?.n ?? 0) + 1 });
const stored = async (container: Container) => (await container.item(AT.id, AT.pk).read<Counter>()).resource;

/** Once, at the first call: what another writer does between the read and the write. */
function meanwhile<A extends unknown[], R>(decide: (...given: A) => R, act: () => Promise<unknown>) {
  let calls = 0;
  return {
    decide: async (...given: A): Promise<R> => {
      calls += 1;
      if (calls === 1) await act();
      return decide(...given);
    },
    calls: () => calls,
  };
}

describe('a document is decided on', () => {
  it('a document is decided on by what is stored: made, replaced, left as it is, taken away', async () => {
    const { container } = await emulate();
    expect(await rewrite(container, AT, counted)).toMatchObject({ before: undefined, after: { n: 1 } });
    expect(await rewrite(container, AT, counted)).toMatchObject({ before: { n: 1 }, after: { n: 2 } });
    const etag = (await stored(container))?._etag;
    const left = await rewrite(container, AT, (of?: Counter) => of);
    expect(left.after).toBe(left.before);
    expect((await stored(container))?._etag).toBe(etag);
    expect(await rewrite(container, AT, () => undefined)).toMatchObject({ before: { n: 2 }, after: undefined });
    expect(await stored(container)).toBeUndefined();
    expect(await rewrite(container, AT, () => undefined)).toEqual({ before: undefined, after: undefined });
  });

  it.each<[string, boolean, (container: Container) => Promise<unknown>, number | undefined]>([
    ['made', false, (container) => container.items.create({ ...AT, n: 10 }), 11],
    ['replaced', true, (container) => container.items.upsert({ ...AT, n: 10 }), 11],
    ['taken away', true, (container) => container.item(AT.id, AT.pk).delete(), 1],
  ])('a document is decided on again where another has %s it meanwhile', async (_, there, act, n) => {
    const { container, emulator } = await emulate();
    if (there) await container.items.create({ ...AT, n: 1 });
    const other = clientOf(emulator).database('d').container('c');
    const { decide, calls } = meanwhile(counted, () => act(other));
    expect((await rewrite(container, AT, decide)).after.n).toBe(n);
    expect(calls()).toBe(2);
    expect((await stored(container))?.n).toBe(n);
  });

  it('a document is decided on again before it is taken away, where another has changed it', async () => {
    const { container, emulator } = await emulate();
    await container.items.create({ ...AT, n: 1 });
    const other = clientOf(emulator).database('d').container('c');
    const remove = (of?: Counter) => (of?.n === 1 ? undefined : of);
    const { decide } = meanwhile(remove, () => other.items.upsert({ ...AT, n: 2 }));
    expect((await rewrite(container, AT, decide)).after?.n).toBe(2);
    expect((await stored(container))?.n).toBe(2);
  });

  it.each(['create', 'replace', 'delete'] as const)(
    'a document is decided on once, though the answer to its %s was lost',
    async (operation) => {
      const { container, emulator } = await emulate();
      if (operation !== 'create') await container.items.create({ ...AT, n: 1 });
      emulator.faults({ rules: [{ operation, container: 'c', nth: 1, status: 503, effect: 'after' }] });
      let calls = 0;
      const decide = (of?: Counter): Counter | undefined => {
        calls += 1;
        return operation === 'delete' ? undefined : counted(of);
      };
      const { before, after } = await rewrite(container, AT, decide);
      expect(calls).toBe(1);
      expect(before?.n).toBe(operation === 'create' ? undefined : 1);
      expect((await stored(container))?.n).toBe(after?.n);
    },
  );

  it('a document is decided on by many writers, none of whose writes is lost, with lost answers, throttling and lagging replicas', async () => {
    const { container, emulator } = await emulate();
    emulator.faults({ failAfterEffect: 0.2, throttle: 0.2, replicaLagMs: 20 });
    const writers = Array.from({ length: 4 }, (_, n) => ({
      container: clientOf(emulator, false).database('d').container('c'),
      name: `w${n}`,
    }));
    type Log = Readonly<Record<string, unknown>>;
    const write = async ({ container: own, name }: (typeof writers)[number]): Promise<void> => {
      for (let n = 0; n < 3; n++)
        await rewrite(own, AT, (of?: Log) => ({ ...AT, log: [...((of?.['log'] as string[]) ?? []), `${name} ${n}`] }));
    };
    await Promise.all(writers.map(write));
    emulator.faults({});
    const { resource } = await container.item(AT.id, AT.pk).read<{ log: string[] }>();
    const all = writers.flatMap(({ name }) => [0, 1, 2].map((n) => `${name} ${n}`));
    expect([...new Set(resource?.log)].toSorted()).toEqual(all.toSorted());
  });

  it('a document is not decided on where something refuses: it is thrown, and so is that there is no container', async () => {
    const { container } = await emulate();
    const refuse = (): undefined => {
      throw new Error('refused');
    };
    await expect(rewrite(container, AT, refuse)).rejects.toThrow('refused');
    const none = rewrite(container.database.container('none'), AT, counted);
    expect(failureOf(await none.catch((error: unknown) => error)).kind).toBe('not-found');
  });
});
