// The status of a pipeline in several places as one.
import { mapSettled } from '../../base/map-settled.ts';
import { messageOf } from '../../base/errors.ts';
import { type OperationPlace, operationPlaces } from '../../operations/at-places.ts';
import type { Context } from '../../operations/operation.ts';
import { type Status, readStatus } from '../../operations/status.ts';

/** A look at all places. `failed`: why some can't be read. */
export interface Together {
  readonly status: Status;
  readonly failed?: string;
}

/**
 * Reads the status of the pipeline in every place, or in the one of `shard`. The places are those of the first reading.
 * The function that it returns fails where no place can be read.
 * @throws UsageError `input-invalid`
 */
export async function statusReader(
  context: Context,
  expirationMs: number,
  shard: string | undefined,
): Promise<() => Promise<Together>> {
  const places = await operationPlaces(context.workspace, 'top', 'every', shard);
  if (!places) return async () => ({ status: await readStatus(context, expirationMs) });
  const read = async ({ name, workspace }: OperationPlace) => {
    try {
      return { name, status: await readStatus({ ...context, workspace }, expirationMs) };
    } catch (error) {
      context.signal.throwIfAborted();
      return { name, error };
    }
  };
  return async () => {
    const all = await mapSettled(places, read, { concurrency: 8 });
    const known = all.flatMap(({ name, status }) => (status ? [{ name, status }] : []));
    const failed = all.flatMap(({ name, error }) => (error === undefined ? [] : [`${name}: ${messageOf(error)}`]));
    const [first, ...more] = known;
    if (!first) throw all[0]?.error;
    const status = more.length === 0 ? first.status : together([first, ...more]);
    return { status, ...(failed.length > 0 && { failed: failed.join('; ') }) };
  };
}

interface Named {
  readonly name: string;
  readonly status: Status;
}

/** Dead letters and leases are added up, sources have the name of their place, and a host is one host wherever it works. */
export function together(all: readonly [Named, ...Named[]]): Status {
  const [{ status: first }] = all;
  const each = all.map(({ status }) => status);
  const sum = (of: (status: Status) => number): number => each.reduce((total, status) => total + of(status), 0);
  const projections = Map.groupBy(
    each.flatMap((status) => status.projections),
    ({ id }) => id,
  );
  const hosts = Map.groupBy(
    each.flatMap((status) => status.hosts),
    ({ owner }) => owner,
  );
  return {
    ...first,
    projections: [...projections.values()].map((of) => ({
      ...of[0]!,
      parked: of.reduce((total, { parked }) => total + parked, 0),
    })),
    leases: { all: sum(({ leases }) => leases.all), free: sum(({ leases }) => leases.free) },
    sources: all.flatMap(({ name, status }) =>
      status.sources.map((source) => ({ ...source, container: `${name}/${source.container}` })),
    ),
    hosts: [...hosts.values()].map((of) => ({
      ...of[0]!,
      leases: of.reduce((total, { leases }) => total + leases, 0),
    })),
  };
}
