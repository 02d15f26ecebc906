// The Event Hubs stand-in in a process of its own, with hubs enough that each measurement has a new one.
import { startEventHubs } from '../src/emulator/index.ts';

const hubs = await startEventHubs({ hubs: Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`hub-${n}`, {}])) });
process.send?.({ connectionString: hubs.connectionString });
process.on('disconnect', () => process.exit(0));
