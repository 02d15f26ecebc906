// Shard maps: which database has which keys. docs/shards.md.
export { ShardMapManager } from './map/shard-map-manager.ts';
export type { NewShardMap, ShardMapManagerOptions } from './map/shard-map-manager.ts';
export type { ShardMap } from './map/shard-map.ts';
export type { ChangeOptions, MappingFilter, NewMapping, OperationOptions, StrayKeys } from './map/options.ts';
export type { InspectedMapping, Inspection, LoggedOperation, ShardsAndMappings } from './map/inspection.ts';
export type { StopOptions } from './map/draining.ts';
export type { MapDifference as Difference, RepairSide } from './map/differences.ts';
export type { RepairChoice, RepairOptions, RepairProgress, Repaired } from './map/repair.ts';
export { ensureScheduled } from './map/schedule.ts';
export type { MapPeriod as Period, ScheduledPeriod, ShardSchedule } from './map/schedule.ts';
export type { LockOptions, MappingUpdate } from './map/plans.ts';
export type { MapKeys as Keys, Mapping, Shard } from './map/values.ts';
export type { MapFacts, MapKind, MappingStatus, ShardLocation, ShardSchema } from './map/documents.ts';
export { Places } from './places/places.ts';
export type {
  ConnectOptions,
  ShardCredential as Credential,
  ShardIdentity as Identity,
  PlacesOptions,
  ShardPurpose as Purpose,
} from './places/places.ts';
export type { AccountSettings, SettingsSource } from '../base/accounts.ts';
export { keyForm } from './keys/key-type.ts';
export type { KeyTypeName, KeyValue } from './keys/key-type.ts';
export type { KeyJson } from './keys/codec.ts';
export { MillraceError, UsageError } from '../base/errors.ts';
