// The tables of one projection as an outside sink: they keep the newest version of each document (docs/SPEC-tables.md).
import { systemClock } from '../../base/clock.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type SpanOptions, inChildSpan } from '../../base/telemetry/spans.ts';
import { SinkRefusal } from '../../pipeline/builders/send.ts';
import type { Entry, TableEntry, TableStore } from '../../pipeline/specs.ts';
import { entryId } from '../../pipeline/derived-ids.ts';
import type { Content } from '../../pipeline/tables/ddl.ts';
import type { TableLayout } from '../../pipeline/tables/layout.ts';
import { type DocumentRows, identityCell } from '../../pipeline/tables/rows.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { type MillraceError, messageOf } from '../../base/errors.ts';
import { shown } from '../../base/json.ts';
import { sinksError } from '../errors.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { failure, failureKind } from '../../postgres/failure.ts';
import { sharedLock, writtenContents } from './contents.ts';
import { tableFaults } from './table-faults.ts';
import { type Advanced, type PlacedRow, advance, decide, prune } from './guards.ts';
import { someRows, storedRows } from './read-rows.ts';
import { replaceRows } from './replace-rows.ts';
import { TableContents } from './table-contents.ts';

/** Tenants at the same time. */
const TOGETHER = 6;

export interface TableSinkOptions {
  readonly layout: TableLayout;
  readonly database: Database;
  /** A content that is being filled; absent: the live one. */
  readonly target?: string;
  readonly clock?: Pick<typeof systemClock, 'now'>;
}

/** A table as `verify`, `repair`, `rebuild` and `promote` know outside sinks. */
export function tableSink(options: TableSinkOptions): TableStore {
  const { layout, database } = options;
  const contents = new TableContents(layout, database);
  const writer = new TableWriter(options);
  return {
    write: (entries, signal) => writer.write(entries, signal),
    rows: (signal) => storedRows(layout, database, signal),
    part: (part, signal) => someRows(part, layout, database, signal),
    faults: (signal) => tableFaults(layout, database, signal),
    kept: (signal) => contents.kept(signal),
    back: (signal, keepMs) => contents.back(signal, keepMs),
    rebuild: {
      open: async (target, signal) => {
        const content = await contents.open(target, signal);
        const own = new TableWriter({ ...options, target: content });
        return { write: (entries, until) => own.write(entries, until) };
      },
      swap: (target, signal, keepMs) => contents.swap(target, signal, keepMs),
      drop: (target, signal) => contents.drop(target, signal),
    },
  };
}

/** The columns of an entry's place. A repair that removes a row gives the place that `rows` named. */
function placedOf({ tenant, identity, movable }: TableLayout): (given: Entry) => PlacedRow {
  return (given) => {
    const entry = { etag: '', ...given } as TableEntry;
    const { key, id, tenant: stated } = entry.place;
    // A change has its tenant as text.
    const tenantOf = (column: TableLayout['identity'][number], value: unknown): unknown =>
      identityCell(column, column.type === 'text' ? value : Number(value));
    const valueOf = (column: TableLayout['identity'][number]): unknown =>
      column.from === 'tenant'
        ? tenantOf(column, stated)
        : identityCell(column, column.from === 'id' ? id : key[column.from]);
    const known = tenant && (!movable || (stated !== undefined && stated !== null));
    return {
      entry: { ...entry, id: entryId(key, id) },
      tenant: known ? valueOf(tenant) : undefined,
      identity: identity.filter((column) => column !== tenant).map(valueOf),
      ...(tenant && movable && { strayed: (entry.strayed ?? []).map((value) => tenantOf(tenant, value)) }),
    };
  };
}

/**
 * A deletion finds rows by the key and the id alone, so the rows must name them.
 * @throws MillraceError `tables-place`
 */
function assertOwnPlace({ identity, tenant }: TableLayout, { entry, identity: own, tenant: value }: PlacedRow): void {
  if (entry.row === null) return;
  const { root } = entry.row as unknown as DocumentRows;
  const place = tenant ? [value, ...own] : own;
  const other = identity.find(({ name }, at) => root[name] !== place[at]);
  if (other)
    throw sinksError(
      'tables-place',
      `${other.path} is ${shown(root[other.name])} in the row, and not in the document’s key`,
    );
}

/** What isn't about a row must not park it: a missing setting or a wrong address waits until it is corrected. */
const waiting = (error: MillraceError): MillraceError =>
  error.retryable
    ? error
    : sharedError('unavailable', error.message, {
        cause: error,
        ...(error.hint !== undefined && { hint: error.hint }),
      });

class TableWriter {
  readonly #options: TableSinkOptions;
  constructor(options: TableSinkOptions) {
    this.#options = options;
  }

  /**
   * One transaction for each tenant, tenants side by side; where documents may change their tenant, one for all.
   * @throws SinkRefusal for the entries that PostgreSQL never takes, once the others are durable
   */
  async write(given: readonly Entry[], signal: AbortSignal): Promise<void> {
    const { layout } = this.#options;
    const tenantOf = ({ tenant }: PlacedRow): string => (layout.movable ? '' : String(tenant));
    const refused = new Map<string, string>();
    const entries = given.flatMap((entry) => this.#placed(entry, refused));
    await mapSettled(Map.groupBy(entries, tenantOf).values(), (some) => this.#whole(some, refused, signal), {
      concurrency: TOGETHER,
    });
    if (refused.size > 0) throw new SinkRefusal(refused);
  }

  /** None if the place can't be one of the tables, or the rows name another one. */
  #placed(entry: Entry, refused: Map<string, string>): PlacedRow[] {
    const { layout } = this.#options;
    try {
      const placed = placedOf(layout)(entry);
      assertOwnPlace(layout, placed);
      return [placed];
    } catch (error) {
      refused.set(entry.id, messageOf(error));
      return [];
    }
  }

  /** Where the server refuses the rows, or takes too long for them, each half is tried alone. */
  async #whole(entries: readonly PlacedRow[], refused: Map<string, string>, signal: AbortSignal): Promise<void> {
    const { layout } = this.#options;
    try {
      await this.#commit(entries, signal);
    } catch (error) {
      signal.throwIfAborted();
      const kind = failureKind(error);
      const [one] = entries;
      if (kind === 'data' && one && entries.length === 1) {
        refused.set(one.entry.id, messageOf(error));
        return;
      }
      if (kind === 'other' || entries.length === 1)
        throw waiting(failure(error, `The tables of ${layout.projection}@${layout.version} could not be written`));
      const half = Math.ceil(entries.length / 2);
      await this.#whole(entries.slice(0, half), refused, signal);
      await this.#whole(entries.slice(half), refused, signal);
    }
  }

  async #commit(entries: readonly PlacedRow[], signal: AbortSignal): Promise<void> {
    const tenant = entries[0]?.tenant;
    const undecided: (readonly [PlacedRow, string])[] = [];
    await this.#transaction(signal, async (session, of, now) => {
      const guarded = await advance(session, of, entries, now);
      await replaceRows(session, of, guarded.advanced);
      if (guarded.advanced.some(({ entry }) => entry.row === null)) await prune(session, of, now, { tenant });
      undecided.push(...guarded.undecided);
    });
    // Outside of the transaction, because its locks would be held while the source is read.
    for (const [one, other] of undecided) {
      if (!(await one.entry.isCurrent?.())) continue;
      await this.#transaction(signal, async (session, of, now) => {
        const advanced: Advanced | undefined = await decide(session, of, one, other, now);
        if (advanced) await replaceRows(session, of, [advanced]);
      });
    }
  }

  /** `work` is done for each content that hosts write, in one transaction: what is kept has the same changes (TAB-S6). */
  #transaction(signal: AbortSignal, work: (session: Session, of: Content, now: Date) => Promise<void>): Promise<void> {
    const { layout, database, target, clock = systemClock } = this.#options;
    const written = () =>
      database.transaction(
        async (session) => {
          const now = new Date(clock.now());
          if (target !== undefined) return work(session, { layout, content: target }, now);
          const { live, kept } = await writtenContents(session, layout);
          for (const content of [live, ...kept]) await work(session, { layout, content }, now);
        },
        { signal, first: sharedLock(layout) },
      );
    return inChildSpan(() => transactionSpan(layout.name), written);
  }
}

const transactionSpan = (table: string): SpanOptions => ({
  name: `transaction ${table}`,
  kind: 'client',
  attributes: { 'db.system.name': 'postgresql', 'db.operation.name': 'transaction', 'db.collection.name': table },
});
