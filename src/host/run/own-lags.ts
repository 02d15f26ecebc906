import type { Database } from '@azure/cosmos';
import { withRetry } from '../../cosmos/retry.ts';
import { LagEstimator } from '../../feed/processor/estimator.ts';
import type { LeaseLag } from '../../feed/processor/telemetry.ts';
import type { App } from '../../runtime/compose.ts';

/** How far the leases of this host are behind, asked anew at each call. */
export function ownLags(app: Pick<App, 'sources'>, database: Database): () => Promise<readonly LeaseLag[]> {
  const rids = new Map<string, Promise<string>>();
  const read = async (name: string): Promise<string> =>
    (await withRetry(() => database.container(name).read(), { reads: true })).resource?._rid ?? '';
  const ridOf = (name: string): Promise<string> => {
    const known = rids.get(name) ?? read(name);
    rids.set(name, known);
    known.catch(() => rids.delete(name));
    return known;
  };
  return async () => {
    const lags = app.sources().map(async ({ container: name, mode, leases }) => {
      const estimator = new LagEstimator({
        container: database.container(name),
        rid: await ridOf(name),
        mode,
        // The all-versions feed has no beginning.
        ...(mode === 'all-versions' ? {} : { start: 'beginning' }),
      });
      return Promise.all(
        leases.map(async ({ id, ...lease }) => ({
          container: name,
          lease: id.slice(id.lastIndexOf('..') + 2),
          lag: await estimator.lagOf(lease),
        })),
      );
    });
    return (await Promise.all(lags)).flat();
  };
}
