import { z } from 'zod';
import type { Redriven } from '../../engine/redrive-letter.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural, textTable } from '../../procedures/table.ts';
import { namesLetterKeys, selectionInput } from '../../procedures/dead-letters/select.ts';
import { countBy } from '../../procedures/verify/not-compared.ts';
import { redrive, triedLetters } from '../../procedures/dead-letters/redrive.ts';

const input = z.object({
  ...selectionInput,
  sample: z
    .int()
    .min(1)
    .optional()
    .describe('redrive only this many, the oldest, to see whether the fix works (default: all)'),
  ...backgroundInput,
});

export const deadLettersRedrive = defineOperation({
  name: 'dead-letters redrive',
  summary: 'Redrive dead letters: apply their changes again, after you have fixed the cause',
  examples: [
    'millrace dead-letters redrive --dry-run',
    'millrace dead-letters redrive order-4711',
    'millrace dead-letters redrive --code projection-threw --sample 5',
    'millrace dead-letters redrive --only summaries --env production',
  ],
  shards: 'one',
  namesKeys: namesLetterKeys,
  effect: 'changes',
  bulk: true,
  argument: 'id',
  input,
  plan: async (asked, { workspace }) => {
    const letters = await triedLetters(workspace, asked);
    return {
      steps: letters.map(
        ({ projection, container, id, code }) => `apply ${container}/${id} to ${projection} again (${code})`,
      ),
      ru: letters.length * RU_A_LETTER,
      // 5 s: a document that isn't found is read again after the read lag.
      seconds: letters.length === 0 ? 0 : 5 + Math.ceil(letters.length / 20),
    };
  },
  run: async (asked, context): Promise<readonly Redriven[] | Enqueued> => {
    if (asked.background) return enqueue('dead-letters redrive', asked, context);
    const parts = await partsOf(context);
    return audited(context, 'dead-letters redrive', asked, () =>
      redrive({ ...asked, ...parts, progress: (done, of) => context.screen.progress('redriven', done, of) }),
    );
  },
  format: (result, { sample }) => {
    if (isEnqueued(result)) return sayEnqueued(result);
    if (result.length === 0) return 'No dead letters.';
    const refused = result.filter(({ outcome }) => outcome === 'refused');
    const { refused: _, ...others } = countBy(result.map(({ outcome }) => outcome));
    const each = Object.entries(others).map(([outcome, count]) => `${count.toLocaleString('en-US')} ${outcome}`);
    return [
      ...(refused.length === 0
        ? []
        : [
            textTable(
              ['projection', 'container', 'id', 'result', 'message'],
              refused.map(({ projection, container, id, outcome, message }) => [
                projection,
                container,
                id,
                outcome,
                message ?? '',
              ]),
            ),
          ]),
      `${plural(result.length - refused.length, 'dead letter')} resolved${each.length === 0 ? '' : ` (${each.join(', ')})`}, ${refused.length.toLocaleString('en-US')} still parked.`,
      ...(sample === undefined ? [] : ['This was a sample: without `--sample` the command redrives the others too.']),
    ].join('\n');
  },
  ok: (result) => isEnqueued(result) || result.every(({ outcome }) => outcome !== 'refused'),
});

/** To read the source and the dead letter, apply the change, and remove the dead letter: docs/benchmarks.md, rounded up. */
const RU_A_LETTER = 40;
