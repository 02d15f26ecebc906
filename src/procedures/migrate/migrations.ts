import type { Container } from '@azure/cosmos';
import type { Clock } from '../../base/clock.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { UsageError } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { failureOf } from '../../cosmos/failure.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { type WriteTarget, gateTarget, isSameTarget } from '../../shards/gate/write-gate.ts';
import type { RangePosition } from '../../feed/reading/position.ts';
import { suggestion } from '../../base/near.ts';
import { Claim, type Claimed } from '../journal/claim.ts';

/** The progress of a migration; a document of the state container. Where writers write stands in the gate, not here. */
export interface MigrationRecord extends Claimed {
  readonly type: 'millrace.migration';
  /** The container to migrate. */
  readonly name: string;
  readonly into: string;
  /** Where writers write after it. */
  readonly target: WriteTarget;
  /** `_rid` of both: a container that was created again under the name is another migration. */
  readonly rids: readonly [string, string];
  direction: 'forward' | 'back';
  /** Positions in the feed that is copied from. They may be older than what was copied, never newer. */
  positions: RangePosition[];
  /** Positions in the target's feed, taken while the gate was closed: a rollback starts there. */
  reverse: RangePosition[] | null;
  /** Writers have written to the target before, so all its documents are the migration's, marked or not. */
  readonly again?: boolean;
}

export interface Migration {
  readonly name: string;
  readonly into: string;
  readonly target: WriteTarget;
  readonly rollback: boolean;
  readonly rids: readonly [source: string, target: string];
  /** Writers already write to the target. */
  readonly switched: boolean;
}

const PK = 'migrations';

export class Migrations {
  readonly #state: Container;

  constructor(state: Container) {
    this.#state = state;
  }

  read(name: string): Promise<MigrationRecord | undefined> {
    return readItem<MigrationRecord>(this.#state.item(name, PK));
  }

  /**
   * Creates the record, or takes over the one of the same migration, also from a process that still runs.
   * @throws UsageError `wrong-state`, `not-found`
   */
  begin({ name, into, target, rollback, rids, switched }: Migration, clock: Clock): Promise<Claim<MigrationRecord>> {
    const next = (known: MigrationRecord | undefined): Omit<MigrationRecord, keyof Claimed> => {
      const same = known?.into === into && known.rids[0] === rids[0] && known.rids[1] === rids[1];
      if (rollback) {
        if (!same || !switched || !known.reverse) throw noRollback(name, into, switched);
        return known.direction === 'back' ? known : { ...known, direction: 'back', positions: known.reverse };
      }
      if (switched) throw done(name, into);
      if (known && !same && known.direction === 'forward') throw other(known);
      if (known && same && known.direction === 'forward') return known;
      const of = { type: 'millrace.migration', ...formatOf('migration'), name, into, target, rids } as const;
      const again = known && same ? { again: true } : {};
      return { ...of, direction: 'forward', positions: [], reverse: null, ...again };
    };
    return Claim.take(this.#state, { id: name, pk: PK }, next, { what: `The migration of ${name}`, clock });
  }

  /** Whether a container is being migrated, forward or back, and the writers have not been switched yet. */
  async isUnderWay(container: string): Promise<boolean> {
    const record = await this.read(container);
    if (!record) return false;
    return isUnfinishedMigration(record, await gateTarget(this.#state, container));
  }

  /**
   * Abandons an unfinished migration; its target keeps the copied documents. A finished one keeps its record for a
   * rollback.
   * @throws UsageError `not-found`, `wrong-state`
   */
  async forget(name: string): Promise<void> {
    const record = await this.read(name);
    if (!record) throw await this.#unknown(name);
    if (!(await this.isUnderWay(name))) throw finished(record);
    await this.remove(name);
  }

  /** Removes the record, if there is one. */
  async remove(name: string): Promise<void> {
    await withRetry(() => this.#state.item(name, PK).delete(), { reads: true }).catch((error: unknown) => {
      if (failureOf(error).kind !== 'not-found') throw error;
    });
  }

  async #unknown(name: string): Promise<UsageError> {
    const options = { partitionKey: PK };
    const iterator = this.#state.items.query<string>('SELECT VALUE c.id FROM c', options);
    const { resources: known } = await withRetry(() => iterator.fetchAll(), { reads: true });
    return sharedError('not-found', `There is no migration of ${name}${suggestion(name, known)}`, {
      hint:
        known.length === 0
          ? 'Start one with `millrace migrate NAME --into TARGET`.'
          : `Name one of: ${known.join(', ')}.`,
    });
  }
}

/**
 * Whether the writers, who write to `now`, have not been switched yet as the migration wants it. The target may have the
 * name of the source, in another database.
 */
export function isUnfinishedMigration(
  { target, direction }: Pick<MigrationRecord, 'target' | 'direction'>,
  now: WriteTarget,
): boolean {
  const switched = isSameTarget(now, target);
  return direction === 'forward' ? !switched : switched;
}

const done = (name: string, into: string): UsageError =>
  sharedError('wrong-state', `${name} was already migrated: writers write to ${into}`, {
    hint: 'Run `millrace migrate` with `--rollback` to go back. Drop the old container when no process reads it any more.',
  });

const other = ({ name, into }: MigrationRecord): UsageError =>
  sharedError('wrong-state', `${name} is being migrated to ${into}`, {
    hint: `Finish it first, or abandon it with \`millrace migrate ${name} --into ${into} --give-up\`.`,
  });

const finished = ({ name, into, direction }: MigrationRecord): UsageError =>
  sharedError(
    'wrong-state',
    direction === 'forward'
      ? `The migration of ${name} to ${into} has finished`
      : `The rollback of ${name} from ${into} has finished`,
    { hint: 'Run `millrace migrate` with `--rollback` to go back.' },
  );

const noRollback = (name: string, into: string, switched: boolean): UsageError =>
  sharedError(
    'not-found',
    `There is nothing to roll back from ${into} to ${name}: ${switched ? 'another migration came between' : `writers write to ${name}`}`,
    { hint: 'Name the container and the target (`--into`) of the last finished migration.' },
  );
