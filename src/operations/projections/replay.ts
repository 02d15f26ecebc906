import { digest } from '../../base/json.ts';
import { refuseHistory } from '../../definition/all-versions.ts';
import { projectionId } from '../../definition/specs.ts';
import { StagedHost, type StagedOptions } from '../../runtime/staged-host.ts';

export interface Replayed {
  readonly projection: string;
  readonly container: string;
  readonly changes: number;
  readonly parked: number;
  /** Request units. */
  readonly charge: number;
}

export type ReplayOptions = Omit<StagedOptions, 'purpose'> & {
  /** Tells where it begins: a replay that was interrupted is gone on with by the same one. */
  readonly from: string;
  /** What has left for the archive as well: from the beginning only. */
  readonly cold: boolean;
  readonly signal: AbortSignal;
  readonly progress?: (changes: number) => void;
};

/**
 * Gives the feed, from some point on to what is its end, to one version again; the live leases stay where they are.
 * Versions decide what takes effect, so what is right stays as it is. May be stopped and run again.
 */
export async function replay(options: ReplayOptions): Promise<Replayed> {
  const { spec, from, cold, signal, progress, loaded } = options;
  refuseHistory(spec, loaded.pipeline, 'replayed');
  const purpose = `${projectionId(spec)}.replay-${digest([from, spec.into]).slice(0, 8)}`;
  await using staged = await StagedHost.open({ ...options, purpose });
  const telling = setInterval(() => progress?.(staged.progress().changes), 250);
  try {
    await staged.drained(signal);
    if (cold) await staged.applyCold(signal);
    await staged.drained(signal);
  } finally {
    clearInterval(telling);
  }
  progress?.(staged.progress().changes);
  await staged.stop();
  await staged.removeLeases();
  return { projection: projectionId(spec), container: spec.into.container, ...staged.progress() };
}
