import { projectionId, type IngestSpec } from '../definition/specs.ts';
import type { DeadLetter, DeadLetters } from '../engine/dead-letters/dead-letters.ts';
import { LetterBodyDamaged } from '../engine/dead-letters/letter-bodies.ts';
import type { Redriven } from '../engine/redrive-letter.ts';
import type { SinkSession } from '../sinks/session.ts';
import { type Target, rawOf, takeEvents } from './take.ts';

export interface EventRedrive {
  readonly spec: IngestSpec;
  readonly target: Target;
  readonly deadLetters: DeadLetters;
  readonly session: SinkSession;
}

/**
 * Takes parked events of one ingest again, as they are kept in their letters: the hub may have let them go. Documents are
 * created under the same condition as ever, so it does the live hosts, and another redriver, no harm. What is refused
 * again stays, with one more attempt.
 */
export async function redriveEvents(
  letters: readonly DeadLetter[],
  { spec, target, deadLetters, session }: EventRedrive,
): Promise<Redriven[]> {
  const results: Redriven[] = [];
  for (const letter of letters) {
    const { projection, container, id } = letter;
    const told = { projection, container, id };
    const kept = await deadLetters.kept(letter).catch((error: unknown) => {
      if (error instanceof LetterBodyDamaged) return error;
      throw error;
    });
    if (kept instanceof LetterBodyDamaged) {
      results.push({ ...told, outcome: 'refused', message: kept.message });
      continue;
    }
    const event = kept && rawOf(kept);
    if (!event) {
      const at = `partition ${String(letter.key[1])}, offset ${letter.version.etag}`;
      const message = `The event is no longer kept with its letter; it is in the hub at ${at}, as long as that keeps it`;
      results.push({ ...told, outcome: 'refused', message });
      continue;
    }
    const { refusals } = await takeEvents(spec, target, [event], session);
    await deadLetters.park(projectionId(spec), refusals, new Date(), { whole: true, redriven: true });
    const [refusal] = refusals;
    if (refusal) results.push({ ...told, outcome: 'refused', message: refusal.error.message });
    else results.push({ ...told, outcome: (await deadLetters.discard(letter)) ? 'applied' : 'gone' });
  }
  return results;
}
