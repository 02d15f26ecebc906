import { z } from 'zod';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../../engine/dead-letters/letter-bodies.ts';
import { audited } from '../audit/record.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { type LetterSelection, namesLetterKeys, selectLetters, selectionInput } from './select.ts';
import { operationsError } from '../errors.ts';

const input = z.object({
  ...selectionInput,
  id: z.string().optional().describe('id of the source document; this, --only, --code, --key or --tenant is required'),
  reason: z.string().trim().min(3).describe('why the changes are not needed; recorded in the audit'),
});

export const deadLettersDiscard = defineOperation({
  noun: 'dead-letters',
  verb: 'discard',
  summary: 'Discard dead letters: their changes are never applied, unless the document changes again',
  examples: [
    'millrace dead-letters discard order-4711 --reason "a test order" --yes',
    'millrace dead-letters discard --only old@1 --reason "projection dropped" --dry-run',
    'millrace dead-letters discard --code value-of-other-type --since 2026-03-01T03:10:00Z --reason "a wrong import" --yes',
  ],
  shards: 'one',
  namesKeys: namesLetterKeys,
  effect: 'destroys',
  argument: 'id',
  input,
  plan: async (asked, { workspace }) => {
    refuseAll(asked);
    const letters = await selectLetters(workspace, asked);
    return {
      steps: letters.map(
        ({ projection, container, id, code }) => `discard ${container}/${id} for ${projection} (${code})`,
      ),
      ru: letters.length * 10,
    };
  },
  run: async (asked, context) => {
    refuseAll(asked);
    const services = await context.workspace.services();
    const chosen = await selectLetters(context.workspace, asked);
    return audited(context, 'dead-letters discard', asked, async () => {
      const letters = new DeadLetters(services.place.state, letterBodies(services));
      const discarded: { projection: string; container: string; id: string }[] = [];
      for (const letter of chosen) {
        const { projection, container, id } = letter;
        if (await letters.discard(letter)) discarded.push({ projection, container, id });
      }
      return { discarded, changed: chosen.length - discarded.length };
    });
  },
  format: ({ discarded, changed }) =>
    [
      ...discarded.map(({ projection, container, id }) => `discarded: ${container}/${id} for ${projection}`),
      `${plural(discarded.length, 'dead letter')} discarded.${changed > 0 ? ` ${plural(changed, 'other')} changed meanwhile and stayed.` : ''}`,
    ].join('\n'),
});

/** Discarding all dead letters is hardly ever meant. */
function refuseAll({ id, only, code, key, tenant }: LetterSelection): void {
  if ([id, only, code, key, tenant].some((each) => each !== undefined)) return;
  throw operationsError('selection-missing', 'The command needs a document, a projection, a code, a key or a tenant');
}
