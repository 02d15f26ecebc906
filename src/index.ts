// What a pipeline imports: the declarations, and nothing that runs.
export { model } from './definition/model-ref.ts';
export { copy } from './definition/copy.ts';
export { aggregate } from './definition/aggregate.ts';
export { archive } from './definition/archive.ts';
export { publish } from './definition/publish.ts';
export { ingest } from './definition/ingest.ts';
export { timeWindow, type WindowUnit } from './definition/time-window.ts';
export { definePipeline, source } from './definition/pipeline.ts';
export type { CopyOptions } from './definition/copy.ts';
export type { AggregateOptions } from './definition/aggregate.ts';
export type { ArchiveOptions } from './definition/archive.ts';
export type { PublishOptions } from './definition/publish.ts';
export type { IngestOptions } from './definition/ingest.ts';
export type { Measure, Measures } from './definition/measures.ts';
export type { PipelineOptions, SourceOptions } from './definition/pipeline.ts';
export type { JoinOf, ModelOf, On, Options, Row, Type } from './definition/types.ts';
export type {
  ArchiveSpec,
  Doc,
  Finding,
  IngestEvent,
  IngestSpec,
  Pipeline,
  ProjectionSpec,
  PublishSpec,
  SourceRules,
} from './definition/kinds.ts';
export type { EventStep, Load, LoadOptions, Step } from './definition/workload.ts';
