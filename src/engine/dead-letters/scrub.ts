import { withoutSecrets } from '../../base/secrets.ts';

/** What a message may say at most; a letter is one small document. */
const LONGEST = 4_000;

/** A message as it is stored, listed and sent about. */
export const scrub = (message: string): string =>
  withoutSecrets(message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message);
