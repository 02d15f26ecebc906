import { z } from 'zod';
import { required } from '../flags.ts';
import { defineOperation } from '../operation.ts';
import { selectLetters, selectionInput } from '../../procedures/dead-letters/select.ts';

export const deadLettersShow = defineOperation({
  name: 'dead-letters show',
  summary: 'Show why a document’s change could not be applied, for each projection',
  examples: ['millrace dead-letters show order-4711'],
  shards: 'one',
  effect: 'reads',
  argument: 'id',
  input: z.object({ ...selectionInput, id: required('id of the source document') }),
  run: (asked, { workspace }) => selectLetters(workspace, asked),
  format: (letters) =>
    letters
      .map((letter) =>
        [
          `${letter.container}/${letter.id} (${letter.type}, key ${JSON.stringify(letter.key)}), not applied by ${letter.projection}`,
          `  ${letter.code}: ${letter.message}`,
          ...(letter.hint === undefined ? [] : [`  ${letter.hint}`]),
          `  ${letter.op} at lsn ${letter.version.lsn}, epoch ${letter.version.epoch}; ${letter.attempts} attempt(s), first ${letter.firstAt}, last ${letter.lastAt}`,
        ].join('\n'),
      )
      .join('\n\n'),
});
