// The rules of the pipeline for access tiers, which sweeps apply once a day.
import type { Container } from '@azure/cosmos';
import { DAY_MS } from '../../archive/tier-prices.ts';
import { type TierResult, moveTiers } from '../../archive/tiers.ts';
import { UsageError, messageOf } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { rewrite } from '../../cosmos/rewrite.ts';
import { projectionId } from '../../definition/specs.ts';
import type { Screen } from '../screen.ts';
import type { OpenedArchive } from './open.ts';

/** When the rules of an archive were applied to all of its blobs last. */
export interface Tiering {
  /** ISO 8601 UTC. */
  readonly at: string;
  /** Why nothing was moved. */
  readonly failed?: string;
}

const PARTITION = 'tiering';

export const tieringOf = (state: Container, projection: string): Promise<Tiering | undefined> =>
  readItem<Tiering>(state.item(projection, PARTITION));

/**
 * Applies the rules if a day has passed. Two hosts may do it at the same time. Tiers cost money and no document depends on
 * them, so a refusal doesn't fail the sweep: it is stored, and `archive tiers` shows it.
 */
export async function applyTiersDaily(
  archive: OpenedArchive,
  {
    state,
    now,
    withinMs,
    signal,
    screen,
  }: {
    readonly state: Container;
    readonly now: number;
    readonly withinMs: number;
    readonly signal: AbortSignal;
    readonly screen: Pick<Screen, 'line'>;
  },
): Promise<TierResult | undefined> {
  if (!archive.spec.tiers) return undefined;
  const id = projectionId(archive.spec);
  const last = await tieringOf(state, id);
  if (last && Math.abs(now - Date.parse(last.at)) < DAY_MS) return undefined;
  let failed: string | undefined;
  const result = await moveTiers(archive, { selection: {}, now, withinMs, signal }).catch((error: unknown) => {
    if (!(error instanceof UsageError) || error.code !== 'tier-refused') throw error;
    failed = messageOf(error);
    screen.line(`${id}: no blob was moved to another tier: ${failed}`);
    return undefined;
  });
  if (result?.complete === false) return result;
  const body = {
    id,
    pk: PARTITION,
    type: 'millrace.tiering',
    ...formatOf('tiering'),
    at: new Date(now).toISOString(),
    ...(failed !== undefined && { failed }),
  };
  await rewrite(state, { id, pk: PARTITION }, () => body);
  return result;
}
