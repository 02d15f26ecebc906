import { withoutSecrets } from '../../base/secrets.ts';

/** The most characters of a stored message; a dead letter is one small document. */
const LONGEST = 4_000;

/** A message without secrets, short enough to be stored. */
export function scrub(message: string): string {
  // Before the cut, because half a secret would not be recognised.
  const safe = withoutSecrets(message);
  return safe.length > LONGEST ? `${safe.slice(0, LONGEST)}…` : safe;
}
