// What an application imports that reads projections: no pipeline, and nothing that runs.
export { openViews } from './engine/view-reader.ts';
export type { CurrentView, ViewReader, ViewReaderOptions } from './engine/view-reader.ts';
export { openWriteGate } from './engine/write-gate.ts';
export type { Pass, WriteGate, WriteGateOptions, WriteTarget } from './engine/write-gate.ts';
