// What the all-versions feed shows of one archived document, and what of it the projections get.
import { describe, expect, test } from 'vitest';
import { MARKS } from '../../src/engine/runners.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { RESTORING, type SourceContainer, toChange, toVersion } from '../../src/feed/reading/mapper.ts';
import { turnsAfter } from '../../src/kinds/archive/entry.ts';
import { type Standing, followEntry } from '../../src/kinds/archive/follow.ts';
import { LEAVING_TTL_S, asArchived, leavingFields } from '../../src/kinds/archive/leaving.ts';

type Doc = Record<string, unknown>;
const source: SourceContainer = { name: 'C', keyPaths: [['k']], types: new Map([['thing', {}]]), marks: MARKS };
const version = (lsn: number) => ({ epoch: 1, lsn, etag: `"${lsn}"` });
const doc = (n: number): Doc => ({ id: 'a', k: 'k', type: 'thing', n });
/** As a sweep marks version `of`. */
const marked = (of: number, n = of): Doc => ({ ...doc(n), ...leavingFields(version(of), of * 1000, doc(n)) });

const entry = (lsn: number, body: Doc, operationType = 'replace', etag = `"${lsn}"`): Change => {
  const current = { ...body, _etag: etag, _ts: lsn };
  const raw = { current, metadata: { operationType, lsn, crts: lsn } };
  const change = toVersion(source, raw, 1, (found) => toChange(source, found, 1));
  if (!change) throw new Error('No projection reads it');
  return change;
};
const gone = (lsn: number, timeToLiveExpired: boolean): Change => {
  const metadata = { operationType: 'delete', lsn, crts: lsn, id: 'a', partitionKey: { k: 'k' }, timeToLiveExpired };
  const change = toVersion(source, { metadata }, 1, () => undefined);
  if (!change) throw new Error('A deletion is a change');
  return change;
};
const placeholder = (lsn: number): Change => entry(lsn, { id: 'a', k: 'k', type: RESTORING, ttl: 300 }, 'create');
const archived = (lsn: number, shown: Standing['shown'] = {}): Standing => ({
  state: 'archived',
  version: version(lsn),
  shown,
});

const mayExpire = ({ doc: of }: Change): boolean => Number(of?.['ttl'] ?? -1) > 0;
const after = (known: Standing | undefined, ...changes: Change[]) => {
  const { events, standing, ...rest } = followEntry(known, changes, mayExpire);
  return {
    lsns: [...events.keys()].map((change) => change.version.lsn),
    events: [...events.values()],
    standing,
    ...rest,
  };
};

describe("what is the archive's own", () => {
  test('its mark and the expiry after it, and the entry confirms that each was dropped rightly', () => {
    const left = after(archived(1), entry(2, marked(1)));
    expect(left).toMatchObject({ lsns: [], write: true, standing: { state: 'archived', shown: { left: '"2"' } } });
    const ended = after(left.standing, gone(3, true));
    expect(ended).toMatchObject({ lsns: [], write: true, standing: { state: 'archived', version: version(1) } });
  });

  test('the same again, as often as the page is read', () => {
    const { standing } = after(archived(1), entry(2, marked(1)));
    expect(after(standing, entry(2, marked(1)), gone(3, true))).toMatchObject({ lsns: [], back: undefined });
  });

  test('where the document came back meanwhile, what the entry knows of its last change of state', () => {
    const { standing } = after(archived(1), entry(2, marked(1)), gone(3, true), entry(4, doc(9), 'create'));
    expect(standing).toMatchObject({ state: 'void', version: version(4), shown: { turns: [version(1), version(4)] } });
    expect(after(standing, entry(2, marked(1)), gone(3, true), entry(4, doc(9)))).toMatchObject({ lsns: [4] });
    expect(after(standing, gone(3, true))).toMatchObject({ lsns: [] });
  });

  test('the same where it came and went several times, as far back as the entry has its turns', () => {
    const page = [entry(2, marked(1)), gone(3, true), entry(4, doc(4), 'create')];
    const back = after(archived(1), ...page).standing;
    const again = { ...archived(4), shown: { turns: turnsAfter(back ?? never(), version(4)) } };
    const later = [entry(5, marked(4)), gone(6, true), entry(7, doc(7), 'create')];
    const { standing } = after(again, ...later);
    expect(after(standing, ...page, ...later).lsns).toEqual([4, 7]);
    for (const expiry of [gone(3, true), gone(6, true)]) expect(after(standing, expiry).lsns).toEqual([]);
  });

  test('an expiry under one lsn with the creation after it', () => {
    const both = [gone(4, true), entry(4, doc(9), 'create')] as const;
    const { standing, lsns } = after(archived(1, { left: '"2"' }), ...both);
    expect(lsns).toEqual([4]);
    expect(standing).toMatchObject({ state: 'void', version: version(4) });
    expect(after(standing, ...both).events.map(({ op }) => op)).toEqual(['upsert']);
  });

  test('a placeholder, its end included', () => {
    const { standing } = after(archived(1, { left: '"2"' }), placeholder(4));
    expect(standing?.shown?.placeholder).toEqual(version(4));
    const ended = after(standing, gone(5, true));
    expect(ended).toMatchObject({ lsns: [], standing: { state: 'archived', shown: { left: '"2"' } } });
    expect(ended.standing?.shown).not.toHaveProperty('placeholder');
  });

  test('the end of a placeholder where no entry is left, as often as the page is read', () => {
    const page = [placeholder(4), gone(5, false)];
    const { standing, lsns, write } = after(undefined, ...page);
    expect({ standing, lsns, write }).toMatchObject({
      lsns: [],
      write: true,
      standing: { state: 'void', brief: true },
    });
    expect(after(standing, ...page).events.filter(({ op }) => op === 'delete')).toEqual([]);
  });
});

test('a page from before the placeholder, read again late, takes nothing from the entry', () => {
  const { standing } = after(
    archived(1, { left: '"2"' }),
    gone(3, true),
    placeholder(4),
    gone(5, true),
    placeholder(6),
  );
  for (const late of [gone(3, true), placeholder(4)])
    expect(after(standing, late)).toMatchObject({ lsns: [], standing: { shown: { placeholder: version(6) } } });
});

describe("what is the application's", () => {
  test('a version that kept the mark: an event with its own content, and archived again', () => {
    const { back, standing, events } = after(archived(1, { left: '"2"' }), entry(3, { ...marked(1), n: 7 }));
    expect(back?.leaving?.stored).toEqual(doc(7));
    expect(standing).toMatchObject({ state: 'archived', version: version(3), shown: { left: '"3"' } });
    expect(events).toMatchObject([{ op: 'upsert', doc: doc(7) }]);
    expect(events[0]).not.toHaveProperty('leaving');
    expect(after(standing, gone(4, true)).lsns).toEqual([]);
  });

  test('also one with the archived content, if the mark was shown before: it may have overwritten another', () => {
    const { lsns, back, events } = after(archived(1, { left: '"2"' }), entry(5, marked(1)));
    expect(lsns).toEqual([5]);
    expect(back?.leaving?.intact).toBe(true);
    expect(events[0]).not.toHaveProperty('restored');
  });

  test('one that kept only the `ttl`', () => {
    const { back, standing } = after(archived(1, { left: '"2"' }), entry(3, { ...doc(7), ttl: LEAVING_TTL_S }));
    expect(back?.leaving).toEqual({ stored: doc(7), intact: false });
    expect(standing?.state).toBe('archived');
  });

  test('one without either: the document is back', () => {
    expect(after(archived(1), entry(3, doc(7)))).toMatchObject({
      lsns: [3],
      back: undefined,
      standing: { state: 'void' },
    });
    const mortal = after(archived(1), entry(3, { ...marked(1), ttl: 60 }), gone(4, true));
    expect(mortal).toMatchObject({ lsns: [3, 4], standing: { state: 'void', brief: true } });
  });

  test('an expiry of that time to live, read again after the document came back and left', () => {
    const mortal = entry(3, { ...doc(3), ttl: 60 });
    const { standing } = after(archived(1, { left: '"2"' }), mortal, gone(4, true), entry(5, doc(5), 'create'));
    const again = { ...archived(5), shown: { turns: turnsAfter(standing ?? never(), version(5)) } };
    expect(after(after(again, entry(7, doc(7))).standing, gone(4, true)).lsns).toEqual([4]);
  });

  test('one with a time to live of its own, which no sweep that comes late may take for archived', () => {
    expect(after(undefined, entry(3, doc(7)))).toMatchObject({ lsns: [3], write: false, standing: undefined });
    const { standing, write } = after(undefined, entry(3, { ...doc(7), ttl: 60 }));
    expect({ standing, write }).toMatchObject({ write: true, standing: { state: 'void', brief: true } });
  });

  test('a hard delete, while the document leaves and while its placeholder stands', () => {
    expect(after(archived(1, { left: '"2"' }), gone(3, false))).toMatchObject({
      lsns: [3],
      standing: { state: 'void' },
    });
    const { standing } = after(archived(1, { left: '"2"' }), placeholder(4), gone(5, false));
    expect(standing).toMatchObject({ state: 'void', version: { lsn: 5 } });
  });

  test('a mark that names a version the entry has not heard of: the read was stale', () => {
    expect(after(undefined, entry(2, marked(1))).stale).toBe(true);
    expect(after(archived(1), entry(5, marked(4))).stale).toBe(true);
    expect(after(archived(4), entry(5, marked(4))).stale).toBe(false);
  });
});

test('a reader of the container gets the archived version, as long as only the mark was added', () => {
  expect(asArchived({ ...marked(1), _etag: '"2"', _ts: 2 })).toEqual({ ...doc(1), _etag: '"1"', _ts: 1 });
  const changed = { ...marked(1), n: 7, _etag: '"3"', _ts: 3 };
  expect(asArchived(changed)).toBe(changed);
  const endless = { ...doc(1), ttl: -1 };
  const leaving = { ...endless, ...leavingFields(version(1), 1000, endless), _etag: '"2"', _lsn: 2, _ts: 2 };
  expect(toChange(source, leaving, 1)).toMatchObject({ restored: true, doc: endless, leaving: { intact: true } });
});

function never(): never {
  throw new Error('It has an entry');
}
