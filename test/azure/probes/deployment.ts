import { join } from 'node:path';
import { messageOf } from '../../../src/base/errors.ts';
import { Differs, NotProbed, type Probe } from '../probe.ts';

const INFRA = join(import.meta.dirname, '../../../infra');

export const deployment: readonly Probe[] = [
  {
    number: 'ASM-F17',
    asks: 'the resource manager takes infra/main.bicep as both profiles have it (az deployment sub what-if)',
    run: async ({ az }) => {
      if (!az) throw new NotProbed('There is no resource manager here.');
      for (const profile of ['development', 'production']) {
        const files = [
          '--template-file',
          join(INFRA, 'main.bicep'),
          '--parameters',
          join(INFRA, `parameters/${profile}.json`),
        ];
        try {
          await az('deployment', 'sub', 'what-if', '--location', 'westeurope', '--no-pretty-print', ...files);
        } catch (error) {
          throw new Differs(`${profile}: ${messageOf(error)}`, { cause: error });
        }
      }
    },
  },
];
