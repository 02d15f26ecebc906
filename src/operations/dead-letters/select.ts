import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import type { DeadLetter } from '../../engine/dead-letters.ts';
import { suggestion } from '../suggest.ts';
import type { Services } from '../workspace.ts';
import { readDeadLetters } from './list.ts';

/** Which letters a verb is about. */
export const selectionInput = {
  id: z.string().optional().describe('id of the source document; all letters if absent'),
  only: z.string().optional().describe('one projection, as name@version or name'),
};

export interface LetterSelection {
  readonly id?: string | undefined;
  readonly only?: string | undefined;
}

/** @throws UsageError `dead-letter-unknown`, `projection-without-letters` */
export async function selectLetters(services: Services, { id, only }: LetterSelection): Promise<DeadLetter[]> {
  const all = await readDeadLetters(services);
  const of = all.filter(
    ({ projection }) => only === undefined || projection === only || projection.split('@')[0] === only,
  );
  const mend = '`millrace dead-letters list` lists them.';
  if (only !== undefined && of.length === 0) {
    const ids = [...new Set(all.map(({ projection }) => projection))];
    const near = suggestion(only, [...ids.map((known) => known.split('@')[0] ?? ''), ...ids]);
    throw new UsageError('projection-without-letters', `Nothing is parked of ${only}${near}`, { mend });
  }
  const found = of.filter((letter) => id === undefined || letter.id === id);
  if (id === undefined || found.length > 0) return found;
  const known = of.map((letter) => letter.id);
  throw new UsageError('dead-letter-unknown', `No dead letter has the id ${id}${suggestion(id, known)}`, { mend });
}
