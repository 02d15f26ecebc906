import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { flag, optional } from '../../../verbs/flags.ts';
import { messageOf } from '../../../base/errors.ts';
import type { EmulatorOptions, EventHubs, HubOptions } from '../../../emulator/index.ts';
import { hubFindings } from '../../../pipeline/builders/hub-name.ts';
import { defineOperation } from '../../../verbs/operation.ts';
import { untilAborted } from '../../run/until-aborted.ts';
import { embeddedInput, startEmbedded } from '../embedded.ts';
import { exportLine } from './export-line.ts';
import { sharedError } from '../../../base/shared-errors.ts';
import { operationsError } from '../../../procedures/errors.ts';

export const emulatorStart = defineOperation({
  name: 'emulator start',
  summary:
    'Start the embedded Cosmos DB server, and optionally an Event Hubs stand-in, on this machine only, until Ctrl-C',
  examples: [
    'millrace emulator start',
    'millrace emulator start --port 9090 --data .millrace/cosmos',
    'millrace emulator start --adverse --replica-lag 500 --history 60',
    'millrace emulator start --tls emulator.pem',
    'millrace emulator start --event-hubs --hubs orders,readings:billing+audit',
  ],
  effect: 'changes',
  lasting: true,
  input: z.object({
    port: z.int().min(0).max(65_535).default(8081).describe('port; 0: any free port'),
    host: z.string().default('127.0.0.1').describe('address on which the server listens'),
    allowRemote: flag(
      'allow a --host that other machines can reach: with the key they can read and write every document',
    ),
    names: optional(
      'more host names of the server, separated by commas, such as its name in a container network; it refuses others',
    ),
    key: optional('key in Base64 (default: the published emulator key)'),
    ...embeddedInput,
    history: z.number().min(0).optional().describe('how many seconds a failover or a restore can go back'),
    tls: optional('serve HTTPS, and write the certificate that clients must trust to this file'),
    eventHubs: flag('also start a stand-in for Event Hubs'),
    hubs: optional(
      'event hubs of the stand-in, separated by commas; consumer groups as name:group+group (default: one hub, events)',
    ),
    eventHubsPort: z.int().min(0).max(65_535).default(5672).describe('port of the stand-in; 0: any free port'),
  }),
  run: async (asked, { signal, screen }) => {
    const { port, host, allowRemote, names, key, history, tls, eventHubs, hubs, eventHubsPort, ...input } = asked;
    // Errors in the flags are reported before anything listens.
    const wanted = hubsOf(eventHubs, hubs);
    const more: EmulatorOptions = {
      host,
      allowRemote,
      ...(names === undefined ? {} : { names: names.split(',').map((name) => name.trim()) }),
      ...(key === undefined ? {} : { key }),
      ...(tls === undefined ? {} : { tls: true }),
    };
    const server = await startEmbedded(port, { ...input, history }, more);
    const broker = await startBroker(wanted, { port: eventHubsPort, host, data: input.data }).catch(
      async (error: unknown) => {
        await server.close();
        throw error;
      },
    );
    screen.line(
      `Cosmos DB listens at ${server.endpoint}${input.data === undefined ? ', in memory' : `, its data in ${input.data}`}.`,
    );
    if (tls !== undefined && server.certificate !== undefined) {
      const file = resolve(tls);
      await writeFile(file, server.certificate).catch(async (cause: unknown) => {
        await broker?.close();
        await server.close();
        throw sharedError('unreadable', `The file ${tls} can't be written: ${messageOf(cause)}`, {
          cause,
          hint: 'Name another file for the certificate.',
        });
      });
      screen.line(exportLine('NODE_EXTRA_CA_CERTS', file));
    }
    screen.line(exportLine('COSMOS', server.connectionString));
    if (broker) {
      screen.line(`Event Hubs listens at ${host}:${broker.port}: ${Object.keys(wanted ?? {}).join(', ')}.`);
      screen.line(exportLine('EVENTHUBS', broker.connectionString));
    }
    screen.line('Ctrl-C stops the server.');
    await untilAborted(signal);
    await broker?.close();
    await server.close();
    return { endpoint: server.endpoint };
  },
  format: () => 'Stopped.',
});

/** The event hubs that `--hubs` names; undefined without `--event-hubs`. */
function hubsOf(eventHubs: boolean, text: string | undefined): Readonly<Record<string, HubOptions>> | undefined {
  if (!eventHubs && text === undefined) return undefined;
  if (!eventHubs) {
    throw operationsError('input-invalid', '--hubs is given without --event-hubs.', {
      hint: 'Add --event-hubs.',
    });
  }
  const hubs: Record<string, HubOptions> = {};
  for (const part of (text ?? 'events').split(',')) {
    const [name = '', groups] = part.trim().split(':');
    const consumerGroups = groups?.split('+') ?? [];
    const [wrong] = [undefined, ...consumerGroups].flatMap((group) => hubFindings('--hubs', name, group));
    if (wrong)
      throw operationsError('input-invalid', `${wrong.message}.`, wrong.hint === undefined ? {} : { hint: wrong.hint });
    hubs[name] = { consumerGroups };
  }
  return hubs;
}

async function startBroker(
  hubs: Readonly<Record<string, HubOptions>> | undefined,
  { port, host, data }: { port: number; host: string; data: string | undefined },
): Promise<EventHubs | undefined> {
  if (!hubs) return undefined;
  const { startEventHubs } = await import('../../../emulator/index.ts');
  return startEventHubs({ hubs, port, host, ...(data === undefined ? {} : { data: join(data, 'event-hubs') }) });
}
