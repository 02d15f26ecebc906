// The exports for applications that read projections or write while a container moves; they need no pipeline.
export { openViews } from './engine/views/view-reader.ts';
export type { CurrentView, ViewReader, ViewReaderOptions } from './engine/views/view-reader.ts';
export { openWriteGate } from './shards/write-gate.ts';
export type { Pass, WriteGate, WriteGateOptions, WriteTarget } from './shards/write-gate.ts';
