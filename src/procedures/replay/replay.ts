import { digest } from '../../base/json.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { projectionTargetOf } from '../projections/choose.ts';
import { type FillOptions, fill, followed, isUnfollowed } from '../rebuild/fill.ts';
import { besideHosts } from './beside-hosts.ts';
import { StagedHosts, type StagedHostsOptions } from '../../runtime/hosts/staged-hosts.ts';

export interface Replayed {
  readonly projection: string;
  /** Where it was replayed to. */
  readonly container: string;
  readonly changes: number;
  readonly parked: number;
  /** Documents of the sink that changed; null: the sink is no container. */
  readonly changed: number | null;
  /** Request units. */
  readonly charge: number;
  /** Why it began again: an all-versions feed no longer has the changes since its position. */
  readonly startedOver?: string;
}

/** `cold`: only from the beginning. */
export type ReplayOptions = Omit<StagedHostsOptions, 'purpose'> &
  FillOptions & {
    /** Its start, as text. A replay with the same start resumes one that was interrupted. */
    readonly from: string;
  };

/**
 * Applies the feed to one version again, from a point to its present end; the live leases don't move. Versions decide what
 * takes effect, so correct documents don't change. May be stopped and run again.
 * @throws UsageError `position-unusable` where the all-versions feed no longer has the changes since its start
 */
export async function replay(options: ReplayOptions): Promise<Replayed> {
  const { spec, from, tenant, note } = options;
  const to = 'into' in spec ? spec.into : projectionTargetOf(spec);
  const purpose = `${projectionId(spec)}.${note ? 'note' : 'replay'}-${digest(tenant === undefined ? [from, to] : [from, to, tenant]).slice(0, 8)}`;
  const once = async (): Promise<Replayed> => {
    await using staged = await StagedHosts.open({ ...options, purpose });
    await fill(staged, options);
    await staged.stop();
    await staged.removeLeases();
    return { projection: projectionId(spec), container: projectionTargetOf(spec), ...staged.progress() };
  };
  const undo = (): Promise<void> => StagedHosts.forget({ ...options, purpose });
  return besideHosts([spec], purpose, options, () => followed(once, undo)).catch(async (error: unknown) => {
    if (!isUnfollowed(error)) throw error;
    await undo();
    throw sharedError('position-unusable', error.message, { cause: error });
  });
}
