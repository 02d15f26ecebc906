import { digest } from '../../base/json.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { projectionTargetOf } from '../projections/choose.ts';
import { fill } from '../rebuild/fill.ts';
import { StagedHosts, type StagedHostsOptions } from '../../runtime/hosts/staged-hosts.ts';

export interface Replayed {
  readonly projection: string;
  /** Where it was replayed to. */
  readonly container: string;
  readonly changes: number;
  readonly parked: number;
  /** Request units. */
  readonly charge: number;
}

export type ReplayOptions = Omit<StagedHostsOptions, 'purpose'> & {
  /** Its start, as text. A replay with the same start resumes one that was interrupted. */
  readonly from: string;
  /** Includes archived documents; only from the beginning. */
  readonly cold: boolean;
  readonly signal: AbortSignal;
  readonly progress?: (changes: number) => void;
};

/**
 * Applies the feed to one version again, from a point to its present end; the live leases don't move. Versions decide what
 * takes effect, so correct documents don't change. May be stopped and run again.
 */
export async function replay(options: ReplayOptions): Promise<Replayed> {
  const { spec, from, cold, tenant, signal, progress } = options;
  const to = 'into' in spec ? spec.into : projectionTargetOf(spec);
  const purpose = `${projectionId(spec)}.replay-${digest(tenant === undefined ? [from, to] : [from, to, tenant]).slice(0, 8)}`;
  await using staged = await StagedHosts.open({ ...options, purpose });
  await fill(staged, { cold, signal, progress });
  await staged.stop();
  await staged.removeLeases();
  return { projection: projectionId(spec), container: projectionTargetOf(spec), ...staged.progress() };
}
