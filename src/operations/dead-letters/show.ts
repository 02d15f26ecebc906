import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { defineOperation } from '../operation.ts';
import { suggestion } from '../suggest.ts';
import { readDeadLetters } from './list.ts';

export const deadLettersShow = defineOperation({
  noun: 'dead-letters',
  verb: 'show',
  summary: 'Show why a document could not be applied, once for each projection that refused it',
  examples: ['millrace dead-letters show order-4711'],
  effect: 'reads',
  argument: 'id',
  input: z.object({
    id: z.string().describe('id of the source document'),
    only: z.string().optional().describe('one projection, as name@version'),
  }),
  run: async ({ id, only }, { workspace }) => {
    const letters = await readDeadLetters(await workspace.services(), only);
    const found = letters.filter((letter) => letter.id === id);
    if (found.length > 0) return found;
    throw new UsageError(
      'dead-letter-unknown',
      `No dead letter has the id ${id}${suggestion(
        id,
        letters.map((letter) => letter.id),
      )}`,
      {
        mend: '`millrace dead-letters list` lists them.',
      },
    );
  },
  format: (letters) =>
    letters
      .map((letter) =>
        [
          `${letter.container}/${letter.id} (${letter.type}, key ${JSON.stringify(letter.key)}), refused by ${letter.projection}`,
          `  ${letter.code}: ${letter.message}`,
          ...(letter.mend === undefined ? [] : [`  ${letter.mend}`]),
          `  ${letter.op} at lsn ${letter.version.lsn}, epoch ${letter.version.epoch}; ${letter.attempts} attempt(s), first ${letter.firstAt}, last ${letter.lastAt}`,
        ].join('\n'),
      )
      .join('\n\n'),
});
