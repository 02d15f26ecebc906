import type { RangeRates } from '../../feed/processor/rates.ts';
import type { HostStatus } from '../../procedures/status/host-status.ts';
import type { SourceStatus } from '../../runtime/source-reading.ts';

type Read = Pick<SourceStatus, 'container'> & {
  readonly leases: readonly Pick<SourceStatus['leases'][number], 'id' | 'handled'>[];
};

const MINUTE_MS = 60_000;
const MOST_POINTS = 60;

/** What a host did in the last hour, a point a minute. Pages that are opened later begin with it. */
export class Hour {
  /** By lease, the changes that were counted last. A lease that comes back counts from 0 again. */
  #leases = new Map<string, number>();
  #handled = 0;
  readonly history: HostStatus['history'] = [];
  #last: { readonly at: number; readonly handled: number } | undefined;

  /** Takes what the host has handled at the time `at`, and how far it is behind. */
  sample(sources: readonly Read[], ranges: readonly Pick<RangeRates, 'lag'>[], at: number): void {
    const leases = sources.flatMap(({ container, leases: of }) =>
      of.map(({ id, handled }) => [`${container} ${id}`, handled] as const),
    );
    for (const [name, handled] of leases) {
      const before = this.#leases.get(name) ?? 0;
      this.#handled += handled < before ? handled : handled - before;
    }
    this.#leases = new Map(leases);
    const last = (this.#last ??= { at, handled: this.#handled });
    if (Math.floor(at / MINUTE_MS) === Math.floor(last.at / MINUTE_MS)) return;
    const rate = (1_000 * (this.#handled - last.handled)) / (at - last.at);
    const behind = ranges.some(({ lag }) => lag === null) ? null : ranges.reduce((sum, { lag }) => sum + (lag ?? 0), 0);
    this.history.push([Math.floor(at / 1_000), Math.round(10 * rate) / 10, behind]);
    this.history.splice(0, this.history.length - MOST_POINTS);
    this.#last = { at, handled: this.#handled };
  }
}
