/** The storage account of tests: `startAzurite()` in memory, `startAzurite({ folder })` on disk. */
export { type Azurite, startAzurite } from '../../src/host/dev/storage.ts';
