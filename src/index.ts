// The exports for a pipeline: declarations only, nothing that runs.
export {
  autoscale,
  container,
  defineModel,
  document,
  documentWithoutType,
  indexed,
  manual,
  ordered,
} from './model/code/define-model.ts';
export {
  any,
  bool,
  day,
  int,
  list,
  moment,
  nullable,
  number,
  object,
  oneOf,
  optional,
  text,
} from './model/code/fields.ts';
export { copy } from './pipeline/builders/copy.ts';
export { aggregate } from './pipeline/builders/aggregate.ts';
export { reference } from './pipeline/builders/reference.ts';
export { global, shardMap } from './pipeline/builders/shards.ts';
export { embed, embedEach } from './pipeline/builders/embed.ts';
export { react } from './pipeline/builders/react.ts';
export { SinkRefusal, send } from './pipeline/builders/send.ts';
export { table } from './pipeline/builders/table.ts';
export { custom } from './kinds/custom/custom-runner.ts';
export { once } from './kinds/react/once.ts';
export { Poison } from './kinds/runner.ts';
export { untilDone } from './access/change.ts';
export { compareVersions } from './feed/reading/change.ts';
export { MillraceError } from './base/errors.ts';
export { archive } from './pipeline/builders/archive.ts';
export { publish } from './pipeline/builders/publish.ts';
export { ingest } from './pipeline/builders/ingest.ts';
export { timeWindow, type WindowUnit } from './pipeline/time-window.ts';
export { definePipeline, source } from './pipeline/pipeline.ts';
export type { ContainerOptions, Infer, ModelOf, ModelOptions, Type } from './model/code/define-model.ts';
export type { FieldOf } from './model/code/fields.ts';
export type { Field, FieldKind, Fields } from './model/fields.ts';
export type { CopyOptions } from './pipeline/builders/copy.ts';
export type { AggregateOptions } from './pipeline/builders/aggregate.ts';
export type { ReferenceOptions } from './pipeline/builders/reference.ts';
export type { EmbedEachOptions, EmbedOptions } from './pipeline/builders/embed.ts';
export type { ReactOptions } from './pipeline/builders/react.ts';
export type { SendOptions } from './pipeline/builders/send.ts';
export type { ChildGiven, ReferenceGiven, TableOptions } from './pipeline/builders/table.ts';
export type { StartOption } from './pipeline/start.ts';
export type { CustomOptions } from './kinds/custom/custom-runner.ts';
export type { Refusal, Runner } from './kinds/runner.ts';
export type { CommitResult, SinkDocument, DocumentAccess, Write } from './access/document-access.ts';
export type { Change, Identity, Key, Version } from './feed/reading/change.ts';
export type { Fence } from './feed/tenure/fence.ts';
export type { ArchiveOptions } from './pipeline/builders/archive.ts';
export type { PublishOptions } from './pipeline/builders/publish.ts';
export type { IngestOptions } from './pipeline/builders/ingest.ts';
export type { Measure, Measures } from './pipeline/builders/measures.ts';
export type { PipelineOptions, SourceOptions } from './pipeline/pipeline.ts';
export type { JoinOf, On, Options, Row } from './pipeline/types.ts';
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
} from './pipeline/specs.ts';
export type { EventStep, Load, LoadOptions, Step } from './pipeline/workload.ts';
