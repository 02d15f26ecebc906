// The change feed processor by itself: docs/processor.md.
export { ChangeFeedProcessor } from './processor.ts';
export type { ProcessorStatus } from './processor.ts';
export type {
  ChangeContext,
  ChangeFeedProcessorOptions,
  ChangeHandler,
  FailurePolicy,
  StartOption,
} from './processor-options.ts';
export { readChanges } from './read-changes.ts';
export type { ChangesPage, ReadChangesOptions } from './read-changes.ts';
export { DEFAULT_TIMINGS } from './feed-host.ts';
export type { LeaseStatus, Timings } from './feed-host.ts';
export { HandlerTimeout } from './handler-timeout.ts';
export { LeaseDeleted, LeaseLost, LeaseStalled } from './lease.ts';
export { LeaseInDoubt, PageTooOld } from './lease-session.ts';
export { Halt } from './handle.ts';
export { CosmosLeaseStore, leasePrefix } from './cosmos-lease-store.ts';
export type { CosmosLeaseStoreOptions } from './cosmos-lease-store.ts';
export { MemoryLeases } from './memory-lease-store.ts';
export type { Lease, LeaseStore } from './lease.ts';
export type { Change, Identity, Key, Version } from './change.ts';
export type { RangePosition } from './position.ts';
export type { SharedHistory } from './shared-history.ts';
export type { State } from './states.ts';
export type { FeedRange } from '../cosmos/ranges.ts';
export type { Clock } from '../base/clock.ts';
export { MillraceError, UsageError } from '../base/errors.ts';
export type { Events } from '../base/diagnostics.ts';
export { LagEstimator } from './estimator.ts';
export type { EstimatorOptions, Lag, LaggingLease } from './estimator.ts';
export { startTelemetry } from './telemetry.ts';
export type { LeaseLag, TelemetryOptions } from './telemetry.ts';
