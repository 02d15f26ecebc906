// Reactions, custom sinks and custom runners under random histories: REACT-S1 to REACT-S3 and REACT-S8 to REACT-S10.
import { custom, react, send } from 'millrace';
import { expect, it } from 'vitest';
import { MillraceError } from '../../src/base/errors.ts';
import { canonical } from '../../src/base/json.ts';
import { type Entry, SinkRefusal } from '../../src/index.ts';
import { type Doc, type Effect, projectionId } from '../../src/pipeline/specs.ts';
import { recomputeRows } from '../../src/pipeline/oracle/recompute-rows.ts';
import type { Change } from '../../src/feed/reading/change.ts';
import { reactRunner } from '../../src/kinds/react/react-runner.ts';
import { Poison } from '../../src/kinds/runner.ts';
import { sendRunner } from '../../src/kinds/send/send-runner.ts';
import {
  CONCERNS,
  type Made,
  type Missing,
  type Order,
  type Outside,
  RULES,
  type Shown,
  deleted,
  m,
  useExact,
} from './effects.ts';
import { SEED } from './world.ts';

const holdExact = useExact();

/** A receiver of reactions: what it has by its idempotency keys, and the order in which keys came first. */
function receiver(outside: Outside, tenant: string, order: 'document' | 'partitionKey') {
  const received = new Map<string, string>();
  /** Runs that failed to the end: parked, and forgotten once a newer version of the document was dealt with. */
  const failed = new Set<string>();
  const name = `told-${tenant}`;
  const run = async (doc: Order, { key, attempt }: Effect): Promise<void> => {
    if (!CONCERNS(doc) || deleted({ ...doc })) throw new Error(`${doc.id} is none of its business`);
    expect(attempt).toBeLessThanOrEqual(3);
    if (attempt === 3) failed.add(key);
    if (outside.refused(doc)) throw new Error('refused');
    await outside.call(() => {
      const content = canonical(doc);
      if ((received.get(key) ?? content) !== content) throw new Error(`Two contents came under ${key}`);
      received.set(key, content);
    });
  };
  const spec = react(name, { from: m.Orders.order, when: CONCERNS, order, attempts: 3, run });
  const keyOf = (id: string, { lsn, etag }: Pick<Shown, 'lsn' | 'etag'>): string =>
    ['Orders', JSON.stringify([tenant]), id, etag, String(lsn), `${name}@1`].map(encodeURIComponent).join('/');
  return {
    received,
    runner: () => reactRunner(spec, { pauseMs: 0 }),
    missing: (shown: readonly Shown[]) =>
      shown
        .filter(({ doc }) => CONCERNS(doc) && !deleted({ ...doc }))
        .filter((one) => !received.has(keyOf(one.id, one)))
        .map(({ id }) => id),
    skipped: (versions: readonly Change[]) =>
      versions.filter(({ id, op, doc, version }) => {
        const concerned = op === 'upsert' && CONCERNS(doc as unknown as Order);
        return concerned && !received.has(keyOf(id, version)) && !failed.has(keyOf(id, version));
      }),
  };
}

it(`after any history a reaction has run for every document's present version (seed ${SEED})`, () =>
  holdExact((outside, tenant) => {
    const { runner, missing } = receiver(outside, tenant, 'document');
    return { runner, missing };
  }));

it(`read by all versions, hard deletes and expiry among them, every version has had its reaction (seed ${SEED})`, () =>
  holdExact((outside, tenant) => receiver(outside, tenant, 'document'), { feed: 'all-versions' }));

it(`after any history a reaction by key has run in the order of each key (seed ${SEED})`, () =>
  holdExact(
    (outside, tenant) => {
      const { received, runner, missing } = receiver(outside, tenant, 'partitionKey');
      const inOrder: Missing = (shown) => {
        const lsns = [...received.keys()].map((key) => Number(key.split('/')[4]));
        expect(lsns, 'of first runs').toEqual(lsns.toSorted((a, b) => a - b));
        return missing(shown);
      };
      return { runner, missing: inOrder };
    },
    { serial: true },
  ));

/** Rows in a sink of one's own, against the oracle. */
function sent(outside: Outside, tenant: string): Made {
  const rows = new Map<string, Entry>();
  const write = async (entries: readonly Entry[]): Promise<void> => {
    const bad = entries.filter(({ row }) => row !== null && outside.refused(row as Order));
    // One by one, so that what fails in the middle leaves half of them behind.
    for (const entry of entries) {
      if (bad.includes(entry)) continue;
      await outside.call(() => {
        const before = rows.get(entry.id);
        if (!before || before.version < entry.version) rows.set(entry.id, entry);
      });
    }
    if (bad.length > 0) throw new SinkRefusal(new Map(bad.map(({ id }) => [id, 'refused'])));
  };
  const spec = send(`rows-${tenant}`, {
    from: m.Orders.order,
    to: { write },
    where: CONCERNS,
    map: ({ id, cents }) => ({ id, cents }),
  });
  return {
    runner: () => sendRunner(spec),
    missing: (shown) => {
      const documents = shown.map(({ doc }): Doc => ({ ...doc }));
      const wanted = recomputeRows(spec, documents, RULES, {
        keyPaths: ['/tenant'],
        refused: (_doc, cause) => {
          throw cause;
        },
      });
      const found = new Map([...rows].flatMap(([id, { row }]) => (row === null ? [] : [[id, row] as const])));
      return differing(wanted, found).map((id) => id.split('|')[1] ?? id);
    },
  };
}

it(`after any history a sink of one's own has the rows that the oracle says (seed ${SEED})`, () => holdExact(sent));

it(`read by all versions, hard deletes and expiry among them, a sink has the rows that the oracle says (seed ${SEED})`, () =>
  holdExact(sent, { feed: 'all-versions' }));

it.each([
  ['after any history', 'latest'],
  ['read by all versions', 'all-versions'],
] as const)(`%s a runner of one's own has left what the oracle says (seed ${SEED})`, (_, feed) =>
  holdExact(
    (outside, tenant) => {
      const spec = custom(`tickets-${tenant}`, {
        sources: [m.Orders.order],
        apply: async (changes, access) => {
          // What expired and was written again comes under one lsn: only the last change of a document counts.
          for (const change of new Map(changes.map((of) => [of.id, of])).values()) {
            const { id, key, version, op, doc } = change;
            const [found] = await access.read('Tickets', key, [id]);
            // Nor do the two always come in one call: the other may be parked, and come later. It is the newer one.
            const same = found && Number(found['lsn']) === version.lsn;
            if (same && (op === 'delete' || found['cents'] !== null)) continue;
            if (found && Number(found['lsn']) > version.lsn) continue;
            const order = doc as unknown as Order | undefined;
            if (order && outside.refused(order))
              throw new Poison([{ change, error: new MillraceError('ticket-refused', 'refused') }]);
            const body = {
              id,
              type: 'ticket',
              tenant: key[0],
              lsn: version.lsn,
              cents: op === 'delete' ? null : order?.cents,
            };
            const result = await access.commit('Tickets', key, [
              found ? { op: 'replace', id, body, ifMatch: found._etag } : { op: 'create', id, body },
            ]);
            if (result.kind === 'conflict') throw new MillraceError('changed', `${id} changed`, { retryable: true });
          }
        },
      });
      return {
        runner: () => ({
          id: projectionId(spec),
          order: 'document',
          sources: spec.sources,
          apply: (changes, access) => spec.apply(changes, access),
        }),
        missing: async (shown, world) => {
          const tickets = await world.documents('Tickets', 'true', tenant);
          return differing(
            new Map(shown.map(({ id, lsn, doc }) => [id, { lsn, cents: deleted({ ...doc }) ? null : doc.cents }])),
            new Map(
              tickets
                // Of a document that is deleted for good it keeps a ticket without cents.
                .filter((ticket) => ticket['cents'] !== null || shown.some(({ id }) => id === ticket['id']))
                .map((ticket) => [String(ticket['id']), { lsn: ticket['lsn'], cents: ticket['cents'] }]),
            ),
          );
        },
      };
    },
    { feed },
  ),
);

/** The ids at which two sides differ. */
function differing(a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): string[] {
  const shown = (value: unknown): string => (value === undefined ? 'nothing' : canonical(value));
  return [...new Set([...a.keys(), ...b.keys()])].filter((id) => shown(a.get(id)) !== shown(b.get(id)));
}
