// Which tenants had their turn in a sweep with a time limit, so that the next one goes on with others (ADR 97).
import type { Container } from '@azure/cosmos';
import { formatOf } from '../../base/format.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { type ArchiveSpec, projectionId } from '../../pipeline/specs.ts';
import { SWEEPING } from './sweeping.ts';

/** A tenant as its documents have it. */
export type TenantValue = string | number | boolean;

interface Stored {
  readonly id: string;
  readonly pk: typeof PARTITION;
  readonly type: typeof SWEEPING;
  readonly tenants: readonly TenantValue[];
  readonly ttl: number;
}

const PARTITION = 'sweep-turns';
const LIFE_S = 86_400;
/** The query names them all, so there are not too many: the one that had its turn first is forgotten. */
const MOST = 100;
const LENGTH = 5_000;

/** The tenants that had their turn, and that have more. */
export class Turns {
  #ended: readonly TenantValue[];
  readonly #keep: (ended: readonly TenantValue[]) => Promise<void>;
  /** Documents of one tenant before it is another's turn. */
  readonly length: number;

  constructor(
    ended: readonly TenantValue[],
    keep: (ended: readonly TenantValue[]) => Promise<void>,
    length: number = LENGTH,
  ) {
    this.#ended = ended;
    this.#keep = keep;
    this.length = length;
  }

  get ended(): readonly TenantValue[] {
    return this.#ended;
  }

  end(tenant: TenantValue): void {
    this.#ended = [...this.#ended, tenant].slice(-MOST);
  }

  /** Each tenant had its turn. */
  clear(): void {
    this.#ended = [];
  }

  /** For the next sweep, on any host. */
  keep(): Promise<void> {
    return this.#keep(this.#ended);
  }
}

/** The turns of an archive as the last slice left them. Slices of several hosts overwrite each other's. */
export async function readTurns(state: Container, spec: ArchiveSpec): Promise<Turns> {
  const id = projectionId(spec);
  const stored = await readItem<Stored>(state.item(id, PARTITION));
  return new Turns(stored?.tenants ?? [], async (tenants) => {
    await rewrite<Stored, Stored | undefined>(state, { id, pk: PARTITION }, (before) => {
      if (tenants.length > 0)
        return { id, pk: PARTITION, type: SWEEPING, ...formatOf('sweeping'), tenants, ttl: LIFE_S };
      return before && undefined;
    });
  });
}
