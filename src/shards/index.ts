// Shard maps: which database has which keys. docs/shards.md.
export { ShardMapManager } from './map/shard-map-manager.ts';
export type { NewShardMap, ShardMapManagerOptions } from './map/shard-map-manager.ts';
export type {
  ChangeOptions,
  MappingFilter,
  NewMapping,
  OperationOptions,
  ShardMap,
  StrayKeys,
} from './map/shard-map.ts';
export type { InspectedMapping, Inspection, LoggedOperation, ShardsAndMappings } from './map/inspection.ts';
export type { StopOptions } from './map/draining.ts';
export type { Difference, RepairSide } from './map/differences.ts';
export type { RepairChoice, RepairOptions, RepairProgress, Repaired } from './map/repair.ts';
export { ensureScheduled } from './map/schedule.ts';
export type { Period, ScheduledPeriod, ShardSchedule } from './map/schedule.ts';
export type { LockOptions, MappingUpdate } from './map/plans.ts';
export type { Keys, Mapping, Shard } from './map/values.ts';
export type { MapFacts, MapKind, MappingStatus, ShardLocation, ShardSchema } from './map/documents.ts';
export { Places } from './places/places.ts';
export type { ConnectOptions, Credential, Identity, PlacesOptions, Purpose } from './places/places.ts';
export type { AccountSettings, SettingsSource } from '../base/settings.ts';
export { keyForm } from './keys/key-type.ts';
export type { KeyTypeName, KeyValue } from './keys/key-type.ts';
export type { KeyJson } from './keys/codec.ts';
export { MillraceError, UsageError } from '../base/errors.ts';
