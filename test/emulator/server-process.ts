// Run as its own process by the tests of durability: serves the folder given, tells its endpoint, and restarts when asked.
import { startEmulator } from '../../src/emulator/index.ts';

const emulator = await startEmulator({ data: process.argv[2]! });
process.on('message', () => void emulator.restart());
process.send?.(emulator.endpoint);
