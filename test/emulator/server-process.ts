// Run as its own process by the durability test: serves the folder given, and tells its endpoint.
import { startEmulator } from '../../src/emulator/index.ts';

const emulator = await startEmulator({ data: process.argv[2]! });
process.send?.(emulator.endpoint);
