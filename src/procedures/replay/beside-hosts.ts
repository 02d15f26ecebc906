import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { type View, Views } from '../../engine/views/views.ts';
import { systemClock } from '../../base/clock.ts';
import { READ_LAG_MS } from '../../runtime/open-engine.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import { wholeOf } from '../../pipeline/places.ts';
import type { DerivedSpec } from '../../pipeline/specs.ts';
import { unreadBy } from '../../pipeline/fields/touched.ts';

export interface BesideHostsOptions extends Pick<Parts, 'services' | 'loaded'> {
  readonly readLagMs?: number | undefined;
  readonly signal: AbortSignal;
}

/**
 * Does work that writes for projections beside their hosts, of which hosts don't know (ECHO-R11). Hosts that leave out
 * versions which bring nothing new see it first. Where it fails they go on writing every version, until work of this name
 * has ended well.
 */
export async function besideHosts<T>(
  specs: readonly Pick<DerivedSpec, 'name' | 'kind'>[],
  work: string,
  { services, loaded, readLagMs = READ_LAG_MS, signal }: BesideHostsOptions,
  run: () => Promise<T>,
): Promise<T> {
  const whole = wholeOf(loaded.pipeline);
  const views = new Views(services.global.state, whole.name);
  const names = new Set(specs.map(({ name }) => name));
  const concerned = whole.projections.filter((spec) => names.has(spec.name) && unreadBy(spec, whole, loaded.model));
  if (concerned.length === 0) return run();
  const change = async (next: (rewriting: readonly string[]) => readonly string[]): Promise<void> => {
    for (const { name } of concerned)
      await views.change(name, ({ rewriting = [], ...view }): View | undefined =>
        // A version that was never current is applied by no host.
        view.current ? { ...view, rewriting: next(rewriting) } : undefined,
      );
  };
  await change((others) => [...new Set([...others, work])]);
  await systemClock.sleep(VIEWS_REFRESH_MS + readLagMs, signal);
  const result = await run();
  await change((all) => all.filter((one) => one !== work));
  return result;
}
