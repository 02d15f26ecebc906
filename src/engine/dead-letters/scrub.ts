import { withoutSecrets } from '../../base/secrets.ts';

/** The most characters of a stored message; a dead letter is one small document. */
const LONGEST = 4_000;

/** A message without secrets, short enough to be stored. */
export const scrub = (message: string): string => withoutSecrets(message, LONGEST);
