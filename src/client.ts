// What an application imports that reads projections: no pipeline, and nothing that runs.
export { openViews } from './engine/views/view-reader.ts';
export type { CurrentView, ViewReader, ViewReaderOptions } from './engine/views/view-reader.ts';
export { openWriteGate } from './shards/write-gate.ts';
export type { Pass, WriteGate, WriteGateOptions, WriteTarget } from './shards/write-gate.ts';
