// Patterns that data models need and that Cosmos DB doesn't have: docs/patterns.md.
export { shardedKey } from './shards.ts';
export type { ShardOptions, ShardedKey } from './shards.ts';
export { eachOfShards, readShards } from './shard-reader.ts';
export type { ShardPage, ShardQuery } from './shard-reader.ts';
export type { OrderTerm } from './order.ts';
export { uniqueAcross } from './unique-across.ts';
export type { UniqueAcross, UniqueAcrossRule } from './unique-across.ts';
export { uniqueWithin } from './unique-within.ts';
export type { Unique, UniqueDocument, UniqueRule } from './unique-document.ts';
export { eventBins } from './bins.ts';
export type { Bin, BinEvent, BinOptions, EventBins, Stream } from './bins.ts';
export { MillraceError, UsageError } from '../base/errors.ts';
