import type { Effect, ReactSpec } from '../../pipeline/specs.ts';
import type { EffectClaim } from '../effects/records.ts';
import { projectionsError } from '../errors.ts';

/** How far an effect is, over the attempts of one delivery. */
interface Progress {
  begun: boolean;
  done: boolean;
  readonly unfinished: NonNullable<ReactSpec['unfinished']>;
  readonly finish: () => Promise<void>;
}

const progress = new WeakMap<Effect, Progress>();

/** What the attempts at one effect have in common. Undefined: its reaction doesn't say what becomes of an unfinished one. */
export const progressOf = ({ unfinished }: ReactSpec, claim: EffectClaim | undefined): Progress | undefined =>
  unfinished && { begun: claim?.begun === true, done: false, unfinished, finish: async () => claim?.finish() };

/** An effect as an attempt gets it. */
export function tracked(effect: Effect, of: Progress | undefined): Effect {
  if (of) progress.set(effect, of);
  return effect;
}

/**
 * Runs the effect of a reaction that declares `unfinished`, at most one `once` in each. When it has ended, that is stored at
 * once, and no later delivery runs it. If it has begun and nobody knows that it ended, it is run again, or with
 * `unfinished: 'park'` the change is parked.
 * @throws MillraceError `effect-unfinished`, `reaction-failed`
 */
export async function once(effect: Effect, run: () => Promise<void>): Promise<void> {
  const of = progress.get(effect);
  if (!of)
    throw projectionsError(
      'reaction-failed',
      "once() is in a reaction that doesn't declare unfinished: 'again' or 'park'",
    );
  if (of.done) return;
  if (of.begun && of.unfinished === 'park')
    throw projectionsError(
      'effect-unfinished',
      `The effect ${effect.key} has begun, and nobody knows whether it ended`,
    );
  of.begun = true;
  await run();
  of.done = true;
  await of.finish();
}
