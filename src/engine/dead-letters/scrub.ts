import { withoutSecrets } from '../../base/secrets.ts';

/** What a message may say at most; a letter is one small document. */
const LONGEST = 4_000;

/** A message as it is stored, listed and sent about. */
export function scrub(message: string): string {
  // Before it is cut: half a secret isn't known for one.
  const told = withoutSecrets(message);
  return told.length > LONGEST ? `${told.slice(0, LONGEST)}…` : told;
}
