import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { plural, table } from '../table.ts';
import { onlyInput, selectLetters } from './select.ts';

export const deadLettersList = defineOperation({
  noun: 'dead-letters',
  verb: 'list',
  summary: 'List the dead letters (changes that could not be applied), oldest first',
  examples: ['millrace dead-letters list', 'millrace dead-letters list --only order-summaries@1 --json'],
  effect: 'reads',
  input: z.object({ only: onlyInput }),
  run: (asked, { workspace }) => selectLetters(workspace, asked),
  format: (letters) =>
    letters.length === 0
      ? 'No dead letters.'
      : `${table(
          ['projection', 'container', 'id', 'code', 'attempts', 'since', 'message'],
          letters.map((letter) => [
            letter.projection,
            letter.container,
            letter.id,
            letter.code,
            letter.attempts,
            letter.firstAt,
            clip(letter.message),
          ]),
        )}\n${plural(letters.length, 'dead letter')}; \`millrace dead-letters show ID\` shows one.`,
});

const clip = (text: string): string => (text.length > 80 ? `${text.slice(0, 79)}…` : text);
