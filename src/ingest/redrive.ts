import { projectionId, type IngestSpec } from '../pipeline/specs.ts';
import type { DeadLetter, DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import { LetterBodyDamaged } from '../engine/dead-letters/letter-bodies.ts';
import type { Erased } from '../engine/erasures/watch.ts';
import { ERASED, type Redriven } from '../engine/redrive-letter.ts';
import type { IngestAccess } from './sink.ts';
import { type IngestTarget, rawOf, takeEvents } from './take.ts';

export interface EventRedrive {
  readonly spec: IngestSpec;
  readonly target: IngestTarget;
  readonly deadLetters: DeadLetters;
  readonly access: IngestAccess;
  readonly isErased: Erased;
}

/**
 * Takes parked events of one ingest again, from their dead letters: the hub may have deleted them. The create has the
 * same condition as always, so it does no harm to live hosts or to another redrive. An event that is refused again
 * stays a dead letter, with one more attempt.
 */
export async function redriveEvents(
  letters: readonly DeadLetter[],
  { spec, target, deadLetters, access, isErased }: EventRedrive,
): Promise<Redriven[]> {
  const results: Redriven[] = [];
  for (const letter of letters) {
    const { projection, container, id } = letter;
    const about = { projection, container, id };
    const kept = await deadLetters.kept(letter).catch((error: unknown) => {
      if (error instanceof LetterBodyDamaged) return error;
      throw error;
    });
    if (kept instanceof LetterBodyDamaged) {
      results.push({ ...about, outcome: 'refused', message: kept.message });
      continue;
    }
    const event = kept && rawOf(kept);
    if (!event) {
      const at = `partition ${letter.key[1] as string}, offset ${letter.version.etag}`;
      const message = `The dead letter no longer has the event; until its retention ends, the hub has it at ${at}`;
      results.push({ ...about, outcome: 'refused', message });
      continue;
    }
    const { refusals, erased } = await takeEvents(spec, target, [event], access, isErased);
    if (erased > 0) {
      results.push({ ...about, outcome: 'refused', message: ERASED });
      continue;
    }
    await deadLetters.park(projectionId(spec), refusals, new Date(), { whole: true, redriven: true });
    const [refusal] = refusals;
    if (refusal) results.push({ ...about, outcome: 'refused', message: refusal.error.message });
    else results.push({ ...about, outcome: (await deadLetters.discard(letter)) ? 'applied' : 'gone' });
  }
  return results;
}
