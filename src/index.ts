// The exports for a pipeline: declarations only, nothing that runs.
export { model } from './definition/model-ref.ts';
export { copy } from './definition/builders/copy.ts';
export { aggregate } from './definition/builders/aggregate.ts';
export { reference } from './definition/builders/reference.ts';
export { global, shardMap } from './definition/builders/shards.ts';
export { embed, embedEach } from './definition/builders/embed.ts';
export { react } from './definition/builders/react.ts';
export { SinkRefusal, send } from './definition/builders/send.ts';
export { table } from './definition/builders/table.ts';
export { custom } from './projections/custom/custom-runner.ts';
export { Poison } from './projections/runner.ts';
export { untilDone } from './projections/conflict.ts';
export { compareVersions } from './feed/reading/change.ts';
export { MillraceError } from './base/errors.ts';
export { archive } from './definition/builders/archive.ts';
export { publish } from './definition/builders/publish.ts';
export { ingest } from './definition/builders/ingest.ts';
export { timeWindow, type WindowUnit } from './definition/time-window.ts';
export { definePipeline, source } from './definition/pipeline.ts';
export type { CopyOptions } from './definition/builders/copy.ts';
export type { AggregateOptions } from './definition/builders/aggregate.ts';
export type { ReferenceOptions } from './definition/builders/reference.ts';
export type { EmbedEachOptions, EmbedOptions } from './definition/builders/embed.ts';
export type { ReactOptions } from './definition/builders/react.ts';
export type { SendOptions } from './definition/builders/send.ts';
export type { ChildGiven, ReferenceGiven, TableOptions } from './definition/builders/table.ts';
export type { StartOption } from './definition/start.ts';
export type { CustomOptions } from './projections/custom/custom-runner.ts';
export type { Refusal, Runner } from './projections/runner.ts';
export type { CommitResult, SinkDocument, DocumentAccess, Write } from './sinks/document-access.ts';
export type { Change, Identity, Key, Version } from './feed/reading/change.ts';
export type { Fence } from './feed/tenure/fence.ts';
export type { ArchiveOptions } from './definition/builders/archive.ts';
export type { PublishOptions } from './definition/builders/publish.ts';
export type { IngestOptions } from './definition/builders/ingest.ts';
export type { Measure, Measures } from './definition/builders/measures.ts';
export type { PipelineOptions, SourceOptions } from './definition/pipeline.ts';
export type { JoinOf, ModelOf, On, Options, Row, Type } from './definition/types.ts';
export type {
  ArchiveSpec,
  Doc,
  Effect,
  Entry,
  Finding,
  IngestEvent,
  IngestSpec,
  Pipeline,
  ProjectionSpec,
  PublishSpec,
  ResetScope,
  Sink,
  SinkRebuild,
  SourceRules,
} from './definition/specs.ts';
export type { EventStep, Load, LoadOptions, Step, WhileMoving } from './definition/workload.ts';
