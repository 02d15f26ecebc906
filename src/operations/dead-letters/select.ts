import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import { suggestion } from '../../base/near.ts';
import { chooseDeclared, splitId } from '../projections/choose.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { readDeadLetters } from './read.ts';

export const onlyInput = z.string().optional().describe('one projection, as name@version or name');

/** Which letters a verb is about. */
export const selectionInput = {
  id: z.string().optional().describe('id of the source document; all letters if absent'),
  only: onlyInput,
};

export interface LetterSelection {
  readonly id?: string | undefined;
  readonly only?: string | undefined;
}

/** Where letters are chosen: a workspace, of which the pipeline is asked for only to tell what may have any. */
export interface LetterSources {
  services(): Promise<Services>;
  pipeline(): Promise<Pick<LoadedPipeline, 'pipeline'>>;
}

/**
 * The letters of a selection. None of a projection that is declared is an answer; one that was taken out of the pipeline
 * may have letters still.
 * @throws UsageError `dead-letter-unknown`, `projection-unknown`
 */
export async function selectLetters(from: LetterSources, { id, only }: LetterSelection): Promise<DeadLetter[]> {
  const all = await readDeadLetters(await from.services());
  const of = all.filter(
    ({ projection }) => only === undefined || projection === only || splitId(projection).name === only,
  );
  if (only !== undefined && of.length === 0) chooseDeclared((await from.pipeline()).pipeline, only);
  const found = of.filter((letter) => id === undefined || letter.id === id);
  if (id === undefined || found.length > 0) return found;
  const known = of.map((letter) => letter.id);
  throw new UsageError('dead-letter-unknown', `No dead letter has the id ${id}${suggestion(id, known)}`, {
    mend: '`millrace dead-letters list` lists them.',
  });
}
