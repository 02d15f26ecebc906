import { z } from 'zod';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import { suggestion } from '../../base/near.ts';
import { chooseDeclared, splitId } from '../projections/choose.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { readDeadLetters } from './read.ts';
import { operationsError } from '../errors.ts';

export const onlyInput = z.string().optional().describe('one projection, as name or name@version');

/** The flags that select dead letters. */
export const selectionInput = {
  id: z.string().optional().describe('id of the source document (default: all dead letters)'),
  only: onlyInput,
};

export interface LetterSelection {
  readonly id?: string | undefined;
  readonly only?: string | undefined;
}

/** A workspace. The pipeline is loaded only if no dead letter matches, to see whether the projection exists. */
export interface LetterSources {
  services(): Promise<Services>;
  pipeline(): Promise<Pick<LoadedPipeline, 'pipeline'>>;
}

/**
 * The dead letters of a selection. A declared projection may have none; a projection that was removed from the pipeline
 * may still have some.
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
  throw operationsError('dead-letter-unknown', `No dead letter has the id ${id}${suggestion(id, known)}`);
}
