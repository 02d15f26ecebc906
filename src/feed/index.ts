// The change feed processor as a library: docs/processor.md.
export { ChangeFeedProcessor } from './processor/change-feed-processor.ts';
export type { ProcessorStatus } from './processor/run.ts';
export type {
  AllVersionsOptions,
  ChangeContext,
  ChangeFeedProcessorOptions,
  ChangeHandler,
  FailurePolicy,
  FeedStartOption as StartOption,
  VersionsStartOption,
} from './processor/processor-options.ts';
export { readChanges } from './processor/read-changes.ts';
export type { ChangesPage, ClientRange, ReadChangesOptions, ReadVersionsOptions } from './processor/read-changes.ts';
export type { HandedChange as Change, VersionChange } from './processor/handed-change.ts';
export type { AcquiredLease, ErrorContext, ReleasedLease } from './processor/notices.ts';
export { ChangeFeedEstimator } from './processor/change-feed-estimator.ts';
export type { ChangeFeedEstimatorOptions, EstimatedLag, EstimatedLease } from './processor/change-feed-estimator.ts';
export { DEFAULT_TIMINGS } from './sharing/feed-host.ts';
export type { LeaseStatus, Timings } from './sharing/feed-host.ts';
export { LeaseDeleted, LeaseLost, LeaseStalled } from './leases/lease.ts';
export { LeaseInDoubt, PageTooOld } from './tenure/lease-tenure.ts';
export { Halt, HandlerTimeout } from './tenure/page-handler.ts';
export { CosmosLeaseStore, leasePrefix } from './leases/cosmos-lease-store.ts';
export type { CosmosLeaseStoreOptions } from './leases/cosmos-lease-store.ts';
export { ensureLeaseContainer } from './leases/ensure-lease-container.ts';
export type { LeaseContainerOptions } from './leases/ensure-lease-container.ts';
export type { Lease, LeaseStore } from './leases/lease.ts';
export type { Identity, Key, Version } from './reading/change.ts';
export type { RangePosition } from './reading/position.ts';
export type { SharedHistory } from './leases/shared-history.ts';
export type { State } from './tenure/states.ts';
export type { FeedRange } from '../cosmos/ranges.ts';
export type { Clock } from '../base/clock.ts';
export { MillraceError, UsageError } from '../base/errors.ts';
export type { Events } from '../base/telemetry/diagnostics.ts';
export { LagEstimator } from './processor/lag-estimator.ts';
export type { EstimatorOptions, Lag, LaggingLease } from './processor/lag-estimator.ts';
export { startTelemetry } from './processor/telemetry.ts';
export type { LeaseLag, TelemetryOptions } from './processor/telemetry.ts';
