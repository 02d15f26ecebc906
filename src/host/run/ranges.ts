import type { Clock } from '../../base/clock.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import type { RangeRates, Rates } from '../../feed/processor/rates.ts';
import type { HostStatus } from '../../procedures/status/host-status.ts';
import type { App } from '../../runtime/hosts/processor-host.ts';

type Ranges = NonNullable<HostStatus['ranges']>;

/** The part of a lease's id that names its range. */
export const tokenOf = (id: string): string => id.slice(id.lastIndexOf('..') + 2);

/** Takes the positions and lags of this host's leases. Each lease costs the read of one document. */
export async function sampleRates(
  app: Pick<App, 'sources' | 'lags'>,
  rates: Rates,
  clock: Pick<Clock, 'monotonic'>,
): Promise<void> {
  const lags = await app.lags();
  const at = clock.monotonic();
  rates.sample(
    app.sources().flatMap(({ container, leases }) =>
      leases.flatMap(({ id, position, handled }) => {
        const lease = tokenOf(id);
        const lag = lags.find((of) => of.container === container && of.lease === lease)?.lag;
        return lag ? [{ container, lease, position, handled, lag }] : [];
      }),
    ),
    at,
  );
}

/** Each lease of this host: its rates as of the last sample, its page in hand, and its last rejection. */
export function hostRangesOf(app: Pick<App, 'sources'>, rates: Rates, monotonic: number): Ranges {
  return app.sources().flatMap(({ container, leases }) =>
    leases.map(({ id, handled, inHand, deliveries, rejection }) => {
      const lease = tokenOf(id);
      const known = rates.now.find((of) => of.container === container && of.lease === lease);
      return {
        ...rounded(known ?? { container, lease, ...UNKNOWN }),
        handled,
        inHand: inHand
          ? { changes: inHand.changes, seconds: Math.round((monotonic - inHand.since) / 1_000), deliveries }
          : null,
        rejection: rejection
          ? {
              at: new Date(rejection.at).toISOString(),
              changes: rejection.changes,
              why: failureText(rejection.error),
            }
          : null,
      };
    }),
  );
}

const UNKNOWN = { handledPerSecond: null, outPerSecond: null, inPerSecond: null, lag: null, catchUp: null } as const;

const rounded = ({ handledPerSecond, outPerSecond, inPerSecond, catchUp, ...rest }: RangeRates): RangeRates => ({
  ...rest,
  handledPerSecond: tenth(handledPerSecond),
  outPerSecond: tenth(outPerSecond),
  inPerSecond: tenth(inPerSecond),
  catchUp: typeof catchUp === 'number' ? Math.ceil(catchUp) : catchUp,
});
const tenth = (value: number | null): number | null => (value === null ? null : Math.round(value * 10) / 10);

/** What failed and what to do, in one line. */
export const failureText = (error: unknown): string =>
  error instanceof MillraceError && error.hint !== undefined
    ? `${messageOf(error)}. ${error.hint}`
    : (messageOf(error).split('\n')[0] ?? '');
