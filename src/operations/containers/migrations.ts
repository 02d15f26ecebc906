import type { Container } from '@azure/cosmos';
import { UsageError } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { ensureGate } from '../../shards/write-gate.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import { suggestion } from '../../base/near.ts';

/** How far a migration is; a document of the state container. Which way writers go is the gate's to say, not this one's. */
export interface MigrationRecord {
  readonly id: string;
  readonly pk: 'migrations';
  readonly type: 'millrace.migration';
  /** The container that is migrated. */
  readonly name: string;
  readonly into: string;
  /** `_rid` of both: another container of the name is another migration. */
  readonly rids: readonly [string, string];
  direction: 'forward' | 'back';
  /** Of the feed that is copied from. Older than what was copied perhaps, never newer. */
  positions: RangePosition[];
  /** Of the target's feed, taken while the gate was closed: where a way back begins. */
  reverse: RangePosition[] | null;
  /** Writers have written to the target before: what is in it is this migration's, marked or not. */
  readonly again?: boolean;
}

export interface Migration {
  readonly name: string;
  readonly into: string;
  readonly rollback: boolean;
  readonly rids: readonly [source: string, target: string];
  /** Writers write to the target already. */
  readonly flipped: boolean;
}

const PK = 'migrations';

export class Migrations {
  readonly #state: Container;

  constructor(state: Container) {
    this.#state = state;
  }

  async read(name: string): Promise<MigrationRecord | undefined> {
    return (await withRetry(() => this.#state.item(name, PK).read<MigrationRecord>(), { reads: true })).resource;
  }

  /**
   * The record to go on with: a new one, or the one of the same migration.
   * @throws UsageError `migration-done`, `migration-other`, `no-rollback`
   */
  async begin({ name, into, rollback, rids, flipped }: Migration): Promise<MigrationRecord> {
    const known = await this.read(name);
    const same = known?.into === into && known.rids[0] === rids[0] && known.rids[1] === rids[1];
    if (rollback) {
      if (!same || !flipped || !known.reverse) throw noRollback(name, into, flipped);
      if (known.direction === 'back') return known;
      return this.save({ ...known, direction: 'back', positions: known.reverse });
    }
    if (flipped) throw done(name, into);
    if (known && !same && known.direction === 'forward') throw other(known);
    if (known && same && known.direction === 'forward') return known;
    return this.save({
      id: name,
      pk: PK,
      type: 'millrace.migration',
      name,
      into,
      rids,
      direction: 'forward',
      positions: [],
      reverse: null,
      ...(known && same ? { again: true } : {}),
    });
  }

  async save(record: MigrationRecord): Promise<MigrationRecord> {
    await withRetry(() => this.#state.items.upsert(record), { reads: true });
    return record;
  }

  /** Whether a container is being moved, there or back, and writers have not been sent over yet. */
  async isUnderWay(container: string): Promise<boolean> {
    const record = await this.read(container);
    if (!record) return false;
    const { target } = await ensureGate(this.#state, container);
    const flipped = target.container === record.into && target.container !== container;
    return record.direction === 'forward' ? !flipped : flipped;
  }

  /**
   * Gives a migration up that nobody has finished; its target keeps what was copied. A finished one keeps its record,
   * which knows the way back.
   * @throws UsageError `migration-unknown`, `migration-finished`
   */
  async forget(name: string): Promise<void> {
    const record = await this.read(name);
    if (!record) throw await this.#unknown(name);
    if (!(await this.isUnderWay(name))) throw finished(record);
    await withRetry(() => this.#state.item(name, PK).delete(), { reads: true });
  }

  async #unknown(name: string): Promise<UsageError> {
    const options = { partitionKey: PK };
    const iterator = this.#state.items.query<string>('SELECT VALUE c.id FROM c', options);
    const { resources: known } = await withRetry(() => iterator.fetchAll(), { reads: true });
    return new UsageError('migration-unknown', `No migration of ${name} was begun${suggestion(name, known)}`, {
      mend: known.length === 0 ? 'There is none: nothing is to be given up.' : `There is one of: ${known.join(', ')}.`,
    });
  }
}

const done = (name: string, into: string): UsageError =>
  new UsageError('migration-done', `${name} was migrated: writers write to ${into}`, {
    mend: '`millrace containers migrate … --rollback` goes back; drop the old container once nobody reads it.',
  });

const other = ({ name, into }: MigrationRecord): UsageError =>
  new UsageError('migration-other', `${name} is being migrated to ${into}`, {
    mend: 'Finish that first, or give it up: `millrace containers migrate … --give-up`.',
  });

const finished = ({ name, into, direction }: MigrationRecord): UsageError =>
  new UsageError(
    'migration-finished',
    direction === 'forward' ? `${name} was migrated to ${into}` : `${name} is back from ${into}`,
    { mend: 'There is nothing to give up.' },
  );

const noRollback = (name: string, into: string, flipped: boolean): UsageError =>
  new UsageError(
    'no-rollback',
    `There is no way back from ${into} to ${name}${flipped ? ': another migration came between' : ': writers write to it'}`,
    {
      mend: 'A way back is prepared by the migration itself, and goes to where it came from.',
    },
  );
