// The embedded server in a process of its own, so that what is measured has a core to itself.
import { startEmulator } from '../src/emulator/index.ts';

const emulator = await startEmulator({ seed: 1 });
process.send?.({ endpoint: emulator.endpoint, key: emulator.key });
process.on('message', (faults: object) => {
  emulator.faults(faults);
  process.send?.('done');
});
process.on('disconnect', () => process.exit(0));
