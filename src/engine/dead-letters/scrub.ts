/** What a message may say at most; a letter is one small document. */
const LONGEST = 4_000;
const HIDDEN = '***';

/** Each with the part that may stay before it. */
const SECRETS: readonly RegExp[] = [
  // Connection strings: of Cosmos DB, storage, Event Hubs, and of SQL.
  /((?:AccountKey|SharedAccessKey|SharedAccessSignature|PrimaryKey|Password|Pwd)\s*=\s*)[^;\s"']+/gi,
  // Addresses with a password, and signed ones.
  /(\b[a-z][a-z0-9+.-]*:\/\/[^\s:/@]*:)[^\s@/]+(?=@)/gi,
  /([?&](?:sig|code|token|access_token|api[-_]?key)=)[^&\s"']+/gi,
  // Headers, and fields of JSON, by names that never hold anything else.
  /(\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}/g,
  /("?\b(?:password|passwd|secret|client_secret|api[-_]?key|access[-_]?token|refresh[-_]?token|authorization)"?\s*[:=]\s*"?)[^\s",;}]+/gi,
  // JSON web tokens, and Azure's keys of 64 bytes.
  /()\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g,
  /()\b[A-Za-z0-9+/]{86}==/g,
];

/** A message without what looks like a secret: it is stored, listed and sent about. */
export function scrub(message: string): string {
  const clipped = message.length > LONGEST ? `${message.slice(0, LONGEST)}…` : message;
  return SECRETS.reduce((text, secret) => text.replace(secret, `$1${HIDDEN}`), clipped);
}
