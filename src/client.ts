// The exports for applications that read projections, read one tenant, or write while a container moves; they need no
// pipeline.
export { openViews } from './engine/views/view-reader.ts';
export type { CurrentView, ViewReader, ViewReaderOptions } from './engine/views/view-reader.ts';
export { BlobOffline } from './archive/blobs/blob-offline.ts';
export { openHistory } from './archive/read/history-reader.ts';
export type { BlobContainer, BlobHandle, BlobPage, ListedBlob } from './archive/blobs/blob-container.ts';
export type {
  ColdDocument,
  ColdSelection,
  HistoryKey,
  HistoryReader,
  HistoryReaderOptions,
  ReadDocument,
} from './archive/read/history-reader.ts';
export { forTenant } from './client/tenant-reader.ts';
export type { TenantOptions, TenantQueryOptions, TenantReader } from './client/tenant-reader.ts';
export type { TenantPage, TenantQuery } from './client/tenant-query.ts';
export { acrossTenants, guardTenants } from './client/tenant-guard.ts';
export type { TenantGuardOptions } from './client/tenant-guard.ts';
export type { KeyLevel } from './base/key-level.ts';
export type { Tenant } from './client/tenant-key.ts';
export { readSqlSchema, sqlForTenant } from './client/sql-schema.ts';
export type { SqlSchema, SqlSchemaOptions, SqlStatement, SqlVerdict } from './client/sql-schema.ts';
export { guardSql } from './client/sql-guard.ts';
export type { SqlGuardOptions, SqlQueryable } from './client/sql-guard.ts';
export { openWriteGate } from './shards/gate/write-gate.ts';
export type { Pass, WriteGate, WriteGateOptions, WriteTarget } from './shards/gate/write-gate.ts';
export { openRouter } from './shards/routing/router.ts';
export type { Router } from './shards/routing/router.ts';
export type { FencedWriteOptions } from './shards/routing/fenced-write.ts';
export type {
  ReaderOptions,
  RoutedPass,
  RoutedQuery,
  RoutedReader,
  RoutedShard,
  RouterCounters,
  RouterOptions,
  RouterQueryOptions,
} from './shards/routing/values.ts';
export type { MultiShardQuery } from './shards/query/multi-shard-query.ts';
export type {
  MultiShardQueryOptions,
  ShardDiagnostics,
  ShardFailure,
  QueryShardPage as ShardPage,
} from './shards/query/types.ts';
