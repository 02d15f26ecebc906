// Which tenants have changes that are deferred, and how long that will take.
import type { Container } from '@azure/cosmos';
import type { Pipeline } from '../../pipeline/specs.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { BUNDLE } from '../../engine/deferred/documents.ts';
import { type Waiting, registeredOf } from '../../engine/deferred/registered.ts';

interface Waits {
  /** At most; the last bundles may have fewer. */
  readonly changes: number;
  /** When the oldest of them was written to its source, ISO 8601 UTC; null: it is not known. */
  readonly since: string | null;
  /** Changes drained in the last minutes, at most; null: none, or it is not known. */
  readonly drained: number | null;
  /** Seconds until it is empty, if all goes on as in the last minutes; null: it is not known. */
  readonly emptyIn: number | 'never' | null;
}

/** What a tenant has deferred of one source container. */
export interface WaitingTenant extends Waits {
  readonly tenant: string;
  readonly container: string;
}

export interface WaitingTenants {
  /** Those with the most changes, the largest first. */
  readonly tenants: readonly WaitingTenant[];
  /** All others together. */
  readonly others: (Waits & { readonly count: number }) | null;
}

const MOST = 10;

/**
 * The tenants with a queue; null if the pipeline declares no tenant. Point reads: the register of each source
 * container, and two for each queue. `only`: this tenant alone.
 */
export async function waitingTenants(
  pipeline: Pipeline,
  state: Container,
  signal: AbortSignal,
  only?: string,
): Promise<WaitingTenants | null> {
  if (pipeline.tenant === undefined) return null;
  const containers = new Set(
    feedReaders(pipeline).flatMap((spec) => sourcesOf(spec).map(({ container }) => container)),
  );
  const all = await Promise.all(
    [...containers].map(async (container) => {
      const queues = await registeredOf(state, { pipeline: pipeline.name, source: container }, signal).waiting();
      return [...Map.groupBy(queues, ({ tenant }) => tenant)]
        .filter(([tenant]) => only === undefined || tenant === only)
        .map(([tenant, own]) => ({ tenant, container, own }));
    }),
  );
  const largest = all.flat().toSorted((a, b) => bundlesOf(b.own) - bundlesOf(a.own) || (a.tenant < b.tenant ? -1 : 1));
  const rest = largest.slice(MOST);
  return {
    tenants: largest.slice(0, MOST).map(({ tenant, container, own }) => ({ tenant, container, ...together(own) })),
    others: rest.length === 0 ? null : { count: rest.length, ...together(rest.flatMap(({ own }) => own)) },
  };
}

const bundlesOf = (queues: readonly Waiting[]): number => queues.reduce((sum, { bundles }) => sum + bundles, 0);

function together(queues: readonly Waiting[]): Waits {
  const oldest = queues.flatMap(({ oldest: at }) => at ?? []);
  const paces = queues.flatMap(({ pace }) => pace ?? []);
  const perMs = paces.reduce((sum, { drained, added, ms }) => sum + (drained - added) / ms, 0);
  const drained = paces.reduce((sum, pace) => sum + pace.drained, 0);
  const bundles = bundlesOf(queues);
  return {
    changes: BUNDLE * bundles,
    since: oldest.length === 0 ? null : new Date(Math.min(...oldest)).toISOString(),
    drained: drained === 0 ? null : BUNDLE * drained,
    emptyIn: drained === 0 ? null : perMs > 0 ? Math.ceil(bundles / perMs / 1_000) : 'never',
  };
}
