import { type SpanOptions, inSpan } from '../../base/telemetry/spans.ts';
import type { Lease, LeaseStore } from './lease.ts';

/** Makes a span of each call of a lease store. The requests of the call are below it. */
export function withLeaseSpans(store: LeaseStore, container: string): LeaseStore {
  const spanned = <T>(operation: string, lease: Lease | undefined, work: () => Promise<T>): Promise<T> => {
    const of = (): SpanOptions => ({
      name: 'millrace.lease',
      attributes: {
        'millrace.container': container,
        'millrace.lease.operation': operation,
        ...(lease && { 'millrace.lease': lease.id }),
      },
      root: true,
    });
    return inSpan(of, work);
  };
  return {
    prepare: (...given) => spanned('prepare', undefined, () => store.prepare(...given)),
    list: () => spanned('list', undefined, () => store.list()),
    ranges: () => spanned('ranges', undefined, () => store.ranges()),
    create: (...given) => spanned('create', given[2], () => store.create(...given)),
    acquire: (lease, from) => spanned('acquire', lease, () => store.acquire(lease, from)),
    renew: (lease, position) =>
      spanned(position === undefined ? 'renew' : 'checkpoint', lease, () => store.renew(lease, position)),
    read: (lease) => spanned('read', lease, () => store.read(lease)),
    takeOver: (lease) => spanned('take_over', lease, () => store.takeOver(lease)),
    handOver: (lease, position) => spanned('hand_over', lease, () => store.handOver(lease, position)),
    remove: (lease) => spanned('remove', lease, () => store.remove(lease)),
    release: (lease) => spanned('release', lease, () => store.release(lease)),
    ...(store.initializedAt && {
      initializedAt: () => spanned('initialized_at', undefined, () => store.initializedAt!()),
    }),
  };
}
