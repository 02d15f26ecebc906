export { ForeignHost } from '../../src/emulator/foreign/host.ts';
export type { ForeignHostOptions } from '../../src/emulator/foreign/host.ts';
