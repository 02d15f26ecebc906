// The records of effects, on the embedded server: ECHO-R1 to ECHO-R8 one by one; records.model has them in histories.
import { once, react } from 'millrace';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Meter } from '../../../src/cosmos/budget/charge-meter.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { raiseEpoch, renumber } from '../../../src/feed/reading/epochs.ts';
import { EffectRecords } from '../../../src/kinds/effects/records.ts';
import { Poison } from '../../../src/kinds/runner.ts';
import { reactRunner } from '../../../src/kinds/react/react-runner.ts';
import { CosmosAccess } from '../../../src/access/cosmos-access.ts';
import type { DocumentAccess } from '../../../src/access/document-access.ts';
import { bound } from '../../support/access.ts';
import { namesOf } from '../../support/names-of.ts';
import { Crash, UNFENCED } from '../history.ts';
import { type TwoHosts, openTwoHosts } from '../two-hosts.ts';

interface Note {
  id: string;
  type: 'note';
  text: string;
}
const m = namesOf<{ Notes: { note: Note } }>();

let hosts: TwoHosts;
beforeAll(async () => {
  hosts = await openTwoHosts({});
});
afterAll(() => hosts[Symbol.asyncDispose]());

/** A version of note `n` with a text and a vector. */
const version = (lsn: number, text: string, vector?: number[], more: Partial<Change> = {}): Change => ({
  container: 'Notes',
  type: 'note',
  key: ['k'],
  id: 'n',
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: lsn,
  op: 'upsert',
  doc: { id: 'n', type: 'note', text, ...(vector && { embedding: vector }) },
  ...more,
});

let names = 0;

/** A reaction to notes whose vector is no change: what it was told, by key. */
function told() {
  const seen: string[] = [];
  const spec = react(`told-${++names}`, {
    from: m.Notes.note,
    run: async ({ text }, { key }) => void seen.push(`${text} ${key.split('/')[4]}`),
  });
  const meter = new Meter();
  const records = new EffectRecords({
    stateContainer: 'millrace',
    projection: `told-${names}@1`,
    ignored: () => ['/embedding'],
  });
  const runner = reactRunner(spec, { records });
  const access = new CosmosAccess(hosts.database, UNFENCED, meter);
  return {
    seen,
    meter,
    records,
    access,
    /** Returns what was told of these changes. */
    get: async (changes: readonly Change[], by: DocumentAccess = access) => {
      const before = seen.length;
      await runner.apply(changes, by);
      return seen.slice(before);
    },
    pass: (...changes: Change[]) => runner.passOver?.(changes, access),
  };
}

/** A host that dies when it has written so many records. */
function dying(access: DocumentAccess, writes: number): DocumentAccess {
  let left = writes;
  return {
    ...bound(access),
    commit: async (...of) => {
      if (left-- <= 0) throw new Crash();
      return access.commit(...of);
    },
  };
}

describe('the record of an effect', () => {
  it('the record of an effect is claimed before it, so that content that comes back is told after a crash', async () => {
    const { get, access } = told();
    expect(await get([version(5, 'A')])).toEqual(['A 5']);
    // B is told, and the host dies before it can note that.
    await expect(get([version(6, 'B')], dying(access, 1))).rejects.toThrow(Crash);
    // The latest-version feed shows A, which was written meanwhile, and not B.
    expect(await get([version(7, 'A')])).toEqual(['A 7']);
  });

  it('the record of an effect leaves out what brings nothing but ignored fields, whatever else was written with them', async () => {
    const { get } = told();
    expect(await get([version(1, 'A')])).toEqual(['A 1']);
    expect(await get([version(2, 'A', [1]), version(3, 'A', [2])])).toEqual([]);
    // Of a page with all versions, each that counts.
    expect(await get([version(4, 'B', [2]), version(5, 'B', [3]), version(6, 'A', [3])])).toEqual(['B 4', 'A 6']);
    // Written by the application while a vector was on its way: the latest-version feed shows both as one.
    expect(await get([version(8, 'C', [4])])).toEqual(['C 8']);
    expect(await get([version(7, 'B', [4]), version(8, 'C', [4])])).toEqual([]);
  });

  it('the record of an effect gives it one key, though its host died and others have written since', async () => {
    const { get, access } = told();
    await expect(get([version(1, 'A')], dying(access, 1))).rejects.toThrow(Crash);
    expect(await get([version(2, 'A', [1])])).toEqual(['A 1']);
    expect(await get([version(1, 'A')])).toEqual([]);
    await expect(get([version(3, 'B', [1])], dying(access, 1))).rejects.toThrow(Crash);
    await expect(get([version(4, 'B', [2])], dying(access, 1))).rejects.toThrow(Crash);
    expect(await get([version(5, 'B', [3])])).toEqual(['B 3']);
    expect(await get([version(5, 'B', [3]), version(6, 'B', [4])])).toEqual([]);
  });

  it('the record of an effect is found where a crash left it, at the last of several versions of one content', async () => {
    const { get, access } = told();
    await expect(get([version(1, 'A')], dying(access, 1))).rejects.toThrow(Crash);
    await expect(get([version(2, 'A', [1])], dying(access, 1))).rejects.toThrow(Crash);
    expect(await get([version(1, 'A'), version(2, 'A', [1])])).toEqual(['A 1']);
  });

  it('the record of an effect that was claimed at a later version is ended by an earlier one of that change alone', async () => {
    const { get, access } = told();
    const claimedAt = async (change: Change): Promise<void> => {
      await expect(get([change], dying(access, 1))).rejects.toThrow(Crash);
    };
    // The page of another host is older: if it ended without the effect, what follows would overwrite the claim.
    await claimedAt(version(2, 'A', [1]));
    expect(await get([version(1, 'A')])).toEqual(['A 2']);
    expect(await get([version(2, 'A', [1]), version(3, 'B', [1])])).toEqual(['B 3']);
    await claimedAt(version(6, 'A', [1]));
    await claimedAt(version(7, 'A', [2]));
    // An A from before B is another change.
    expect(await get([version(1, 'A')])).toEqual([]);
    expect(await get([version(5, 'A', [1])])).toEqual(['A 6']);
    expect(await get([version(5, 'A', [1]), version(7, 'A', [2])])).toEqual([]);
  });

  it('the record of an effect is repeated by a rewind to before it, and not by a move of keys or a recovery', async () => {
    const { get } = told();
    const state = hosts.database.container('millrace');
    await state.items.upsert({ id: 'Notes', pk: 'epochs', rid: 'r', epoch: 1, numbering: 1 });
    expect(await get([version(1, 'A'), version(2, 'B', [1])])).toEqual(['A 1', 'B 2']);
    const again = (epoch: number, lsn: number, vector = [1]): Change =>
      version(lsn, 'B', vector, { version: { epoch, lsn, etag: `"${lsn}"` } });
    // A move of keys raises the epoch, and its tenures begin again.
    expect(await get([again(2, 2)])).toEqual([]);
    const key = { paths: ['/k'], kind: 'Hash', version: 2 } as const;
    const from = { key, ranges: [{ min: '', max: 'FF', lsn: 2 }] };
    expect(await raiseEpoch(state, 'Notes', 'r', 2, { from })).toBe(3);
    expect(await get([again(3, 2)])).toEqual(['B 2']);
    expect(await get([again(3, 2), again(3, 3, [2])])).toEqual([]);
    // Behind the rewind's end nothing is repeated.
    expect(await raiseEpoch(state, 'Notes', 'r', 3, { from })).toBe(4);
    expect(await get([again(4, 3, [2])])).toEqual([]);
    // After a recovery the feed may show less than the record: what it shows is a change, and the rest is known.
    const recovered = await renumber(state, 'Notes', 'r', 9);
    expect(await get([again(recovered, 1)])).toEqual([]);
    const lost = { version: { epoch: recovered + 1, lsn: 1, etag: '"1"' } };
    expect(await get([version(1, 'A', [1], lost)])).toEqual(['A 1']);
  });

  it('the record of an effect that is done answers a redrive, and what a letter stands for has its effect under its key', async () => {
    const { get } = told();
    await get([version(1, 'A')]);
    expect(await get([version(1, 'A')])).toEqual([]);
    // A backfill has written since; the letter of version 1 is carried.
    expect(await get([version(1, 'A', undefined, { owed: true })])).toEqual(['A 1']);
  });

  it('the record of an effect holds what was before the start, was moved or backfilled as done', async () => {
    const { get, pass } = told();
    await pass(version(1, 'A'));
    expect(await get([version(2, 'A', [1])])).toEqual([]);
    await pass(version(3, 'B', [1], { backfilled: true }));
    expect(await get([version(4, 'B', [2]), version(5, 'A', [2])])).toEqual(['A 5']);
  });

  it('the record of an effect compares under the list that it was written with', async () => {
    const { get, records, access } = told();
    const before = new EffectRecords({
      stateContainer: 'millrace',
      projection: `told-${names}@1`,
      ignored: () => ['/embedding', '/text'],
    });
    await before.baseline([version(1, 'A')], access);
    expect(await get([version(2, 'B')])).toEqual([]);
    expect(await get([version(3, 'C')])).toEqual(['C 3']);
    await records.baseline([version(4, 'D')], access);
    expect(await get([version(4, 'D')])).toEqual(['D 4']);
  });

  it.each(['again', 'park'] as const)(
    'the record of an effect that has begun and not ended: %s',
    async (unfinished) => {
      const sent: string[] = [];
      let dies = true;
      const spec = react(`once-${unfinished}`, {
        from: m.Notes.note,
        unfinished,
        run: async ({ text }, effect) =>
          once(effect, async () => {
            sent.push(text);
            if (dies) throw new Error('the answer was lost');
          }),
      });
      const projection = `once-${unfinished}@1`;
      const runner = () => {
        const records = new EffectRecords({ stateContainer: 'millrace', projection, ignored: () => [] });
        return reactRunner(spec, { records, pauseMs: 0 });
      };
      const access = new CosmosAccess(hosts.database, UNFENCED, new Meter());
      const attempts = unfinished === 'again' ? 5 : 1;
      await expect(runner().apply([version(1, 'A')], access)).rejects.toThrow(Poison);
      expect(sent).toHaveLength(attempts);
      dies = false;
      const redriven = await runner()
        .apply([version(1, 'A')], access)
        .then(String, String);
      expect(redriven).toMatch(unfinished === 'again' ? 'undefined' : 'nobody knows whether it ended');
      await runner()
        .apply([version(1, 'A')], access)
        .catch(() => undefined);
      expect(sent).toHaveLength(unfinished === 'again' ? 6 : 1);
      await runner().apply([version(2, 'B')], access);
      await runner().apply([version(2, 'B')], access);
      expect(sent.at(-1)).toBe('B');
      expect(sent).toHaveLength(unfinished === 'again' ? 7 : 2);
    },
  );

  it('the record of an effect costs 17.5 RU the first time, 23 a change and 12 an echo', async () => {
    const { get, meter } = told();
    const charged = async (change: Change): Promise<number> => {
      const before = meter.charge;
      await get([change]);
      return meter.charge - before;
    };
    expect(await charged(version(1, 'A'))).toBeCloseTo(17.5, 0);
    expect(await charged(version(2, 'B'))).toBeCloseTo(23, 0);
    expect(await charged(version(3, 'B', [1]))).toBeCloseTo(12, 0);
  });
});
