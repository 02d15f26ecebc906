import { z } from 'zod';
import { defineOperation } from '../../operations/operation.ts';
import { embeddedInput, startEmbedded } from './embedded.ts';
import { untilAborted } from '../until-aborted.ts';

export const emulatorStart = defineOperation({
  noun: 'emulator',
  verb: 'start',
  summary: 'Start the embedded Cosmos DB server, on this machine only, until Ctrl-C',
  examples: [
    'millrace emulator start',
    'millrace emulator start --port 9090 --data .millrace/cosmos',
    'millrace emulator start --replica-lag 200 --fail-after-effect 0.02',
  ],
  effect: 'changes',
  input: z.object({
    port: z.int().min(0).max(65_535).default(8081).describe('port on 127.0.0.1; 0: any free one'),
    ...embeddedInput,
  }),
  run: async ({ port, ...options }, { signal, screen }) => {
    const server = await startEmbedded(port, options);
    screen.line(
      `Cosmos DB listens at ${server.endpoint}${options.data === undefined ? ', in memory' : `, its data in ${options.data}`}.`,
    );
    screen.line(`export COSMOS='${server.connectionString}'`);
    screen.line('Ctrl-C stops it.');
    await untilAborted(signal);
    await server.close();
    return { endpoint: server.endpoint };
  },
  format: () => 'Stopped.',
});
