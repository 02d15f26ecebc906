// What an application imports that reads projections: no pipeline, and nothing that runs.
export { openViews } from './engine/view-reader.ts';
export type { CurrentView, ViewReader, ViewReaderOptions } from './engine/view-reader.ts';
