// millrace/testing: scenarios for a pipeline's own tests, on the embedded server. Works with any test runner.
export { testPipeline, type TestPipeline } from './test-pipeline.ts';
export type { Parked, Result, Scenario } from './scenario.ts';
export type { Adversity } from './delivery.ts';
export type { Documents } from './documents.ts';
export type { TableRow as Row } from './tables.ts';
export type { LikeOptions } from './documents-like.ts';
