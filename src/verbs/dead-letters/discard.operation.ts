import { z } from 'zod';
import { optional } from '../flags.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { letterBodies } from '../../engine/dead-letters/letter-bodies.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { deferredOf, discardDeferred } from '../../procedures/dead-letters/deferred.ts';
import {
  type LetterSelection,
  namesLetterKeys,
  selectLetters,
  selectionInput,
} from '../../procedures/dead-letters/select.ts';
import { operationsError } from '../../procedures/errors.ts';

const input = z.object({
  ...selectionInput,
  deferred: optional(
    'instead of dead letters: what is deferred of this source container, which the pipeline no longer reads',
  ),
  id: optional('id of the source document; this, --only, --code, --key, --tenant or --deferred is required'),
  reason: z.string().trim().min(3).describe('why the changes are not needed; recorded in the audit'),
});
type Input = z.output<typeof input>;

type Discarded =
  | {
      readonly discarded: readonly { readonly projection: string; readonly container: string; readonly id: string }[];
      readonly changed: number;
    }
  | { readonly container: string; readonly documents: number };

export const deadLettersDiscard = defineOperation({
  name: 'dead-letters discard',
  summary:
    'Discard dead letters, or what is deferred: their changes are never applied, unless the document changes again',
  examples: [
    'millrace dead-letters discard order-4711 --reason "a test order" --yes',
    'millrace dead-letters discard --only old@1 --reason "projection dropped" --dry-run',
    'millrace dead-letters discard --code value-of-other-type --since 2026-03-01T03:10:00Z --reason "a wrong import" --yes',
    'millrace dead-letters discard --deferred OldOrders --reason "the container was removed" --yes',
  ],
  shards: 'one',
  namesKeys: namesLetterKeys,
  effect: 'destroys',
  argument: 'id',
  input,
  plan: async (asked, context) => {
    refuseAll(asked);
    const { deferred } = asked;
    if (deferred !== undefined) {
      const { queues } = await deferredOf(deferred, context);
      return { steps: [`remove ${plural(queues, 'queue')} of changes of ${deferred}`], ru: 10 * queues };
    }
    const letters = await selectLetters(context.workspace, asked);
    return {
      steps: letters.map(
        ({ projection, container, id, code }) => `discard ${container}/${id} for ${projection} (${code})`,
      ),
      ru: letters.length * 10,
    };
  },
  run: async (asked, context): Promise<Discarded> => {
    refuseAll(asked);
    const { deferred } = asked;
    if (deferred !== undefined) {
      await deferredOf(deferred, context);
      return audited(context, 'dead-letters discard', asked, () => discardDeferred(deferred, context));
    }
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
  format: (result) => {
    if ('container' in result)
      return `${plural(result.documents, 'document')} of the queues of ${result.container} removed.`;
    const { discarded, changed } = result;
    return [
      ...discarded.map(({ projection, container, id }) => `discarded: ${container}/${id} for ${projection}`),
      `${plural(discarded.length, 'dead letter')} discarded.${changed > 0 ? ` ${plural(changed, 'other')} changed meanwhile and stayed.` : ''}`,
    ].join('\n');
  },
});

/** Discarding all dead letters is hardly ever meant. */
function refuseAll({ id, only, code, key, tenant, since, deferred }: LetterSelection & Pick<Input, 'deferred'>): void {
  const selected = [id, only, code, key, tenant].some((each) => each !== undefined);
  if (deferred !== undefined && (selected || since !== undefined))
    throw operationsError('input-invalid', '--deferred names a container, and not dead letters', {
      hint: 'Leave out the flags that select dead letters, or --deferred.',
    });
  if (selected || deferred !== undefined) return;
  throw operationsError('input-invalid', 'The command needs a document, a projection, a code, a key or a tenant', {
    hint: 'Name a document by its id, or name a projection with `--only`, a reason with `--code` or a partition key with `--key`.',
  });
}
