// The embedded server in a process of its own, so that what is measured has a core to itself.
import { startEmulator } from '../src/emulator/index.ts';

const emulator = await startEmulator({ seed: 1, tls: process.argv.includes('--tls') });
const { endpoint, key, certificate } = emulator;
process.send?.({ endpoint, key, ...(certificate === undefined ? {} : { certificate }) });
process.on('message', (asked: object | 'usage') => {
  if (typeof asked === 'object') emulator.faults(asked);
  const { user, system } = process.cpuUsage();
  process.send?.({ cpu: user + system, rss: process.memoryUsage().rss, stats: emulator.stats() });
});
process.on('disconnect', () => process.exit(0));
