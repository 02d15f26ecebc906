import { describe, expect, it } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { orderOf } from '../../../src/engine/dead-letters/letter-document.ts';
import type { Change } from '../../../src/feed/reading/change.ts';
import { clientOf, emulate } from '../../emulator/emulate.ts';

const P = 'out@1';
const NOW = new Date(0);
/** Three parts of bytes, with characters of four, at whose middle a part would end. */
const LARGE = '𝄞é"\\'.repeat(290_000);
const change = (id: string, lsn: number, text = 'small'): Change => ({
  container: 'Orders',
  type: 'order',
  key: ['t1'],
  id,
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: 0,
  op: 'upsert',
  doc: { id, text },
});
const refused = (of: Change) => [{ change: of, error: new MillraceError('too-large', 'Too large') }];

async function state() {
  const { emulator, container } = await emulate();
  const kinds = async (): Promise<string[]> =>
    (await container.items.query<string>('SELECT VALUE c.kind FROM c').fetchAll()).resources.toSorted();
  return { letters: new DeadLetters(clientOf(emulator).database('d').container('c')), kinds };
}
const LETTER = 'dead-letter';
const PART = 'dead-letter-part';

describe('a change larger than its letter', () => {
  it('a change larger than its letter waits whole, and leaves nothing behind once it went out', async () => {
    const { letters, kinds } = await state();
    const large = change('b', 2, LARGE);
    await letters.parkWaiting(P, [large, change('c', 3)], NOW);
    expect(await kinds()).toEqual([LETTER, LETTER, PART, PART, PART]);
    const waiting = await letters.waiting(P, new Set([orderOf(large)]));
    expect(waiting.find(({ id }) => id === 'b')).toEqual(large);
    expect(waiting).toHaveLength(2);
    await letters.resolve(P, waiting);
    expect(await kinds()).toEqual([]);
  });

  it('a change larger than its letter is replaced by a newer version, with its parts', async () => {
    const { letters, kinds } = await state();
    await letters.parkWaiting(P, [change('b', 2, LARGE)], NOW);
    await letters.parkWaiting(P, [change('b', 3, `${LARGE}!`)], NOW);
    expect(await kinds()).toEqual([LETTER, PART, PART, PART]);
    const [newer] = await letters.waiting(P, new Set([orderOf(change('b', 3))]));
    expect(newer?.doc).toEqual({ id: 'b', text: `${LARGE}!` });
    // An older one, and the same again, change nothing and leave nothing.
    await letters.parkWaiting(P, [change('b', 2, LARGE), change('b', 3, `${LARGE}!`)], NOW);
    expect(await kinds()).toEqual([LETTER, PART, PART, PART]);
    await letters.parkWaiting(P, [change('b', 4)], NOW);
    expect(await kinds()).toEqual([LETTER]);
  });

  it('a change larger than its letter is the same after each attempt at an event, and gone with its letter', async () => {
    const { letters, kinds } = await state();
    const event = change('7', 7, LARGE);
    for (const redriven of [false, true]) await letters.park(P, refused(event), NOW, { whole: true, redriven });
    expect(await kinds()).toEqual([LETTER, PART, PART, PART]);
    const [letter] = await letters.list();
    expect(letter).toMatchObject({ id: '7', attempts: 2 });
    expect(await letters.kept(letter!)).toEqual(event);
    expect(await letters.discard(letter!)).toBe(true);
    expect(await kinds()).toEqual([]);
  });

  it('a change larger than its letter survives that another host takes the letter away while it is stored again', async () => {
    const { letters, kinds } = await state();
    const event = change('7', 7, LARGE);
    await letters.park(P, refused(event), NOW, { whole: true });
    const [letter] = await letters.list();
    await Promise.all([
      letters.discard(letter!),
      letters.park(P, refused(event), NOW, { whole: true, redriven: true }),
    ]);
    const all = await letters.list();
    // Gone, or whole: whichever of the two came last.
    expect(await Promise.all(all.map((left) => letters.kept(left)))).toEqual(all.map(() => event));
    expect((await kinds()).filter((kind) => kind === LETTER)).toHaveLength(all.length);
  });
});
