/**
 * Patterns of secrets. The first group of each is the text before the secret, which stays. They meet text of any length that
 * others wrote, so each takes time in proportion to the length: no two starts may scan the same characters to the end.
 */
const SECRETS: readonly RegExp[] = [
  // User and password in an address.
  /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#]*(?=@)/gi,
  // Connection strings: of Cosmos DB, storage, Event Hubs, and of SQL.
  /((?:AccountKey|SharedAccessKey|SharedAccessSignature|PrimaryKey|Password|Pwd)\s*=\s*)[^;\s"']+/gi,
  // Signed addresses.
  /((?:\bsig|[?&](?:code|token|access_token|api[-_]?key))=)[^;&\s"'`]+/gi,
  // Headers and JSON fields whose names always mean a secret.
  /(\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}/g,
  /("?\b(?:password|passwd|secret|client_secret|api[-_]?key|access[-_]?token|refresh[-_]?token|authorization)"?\s*[:=]\s*"?)[^\s",;}]+/gi,
  // Azure keys of 64 bytes.
  /()\b[A-Za-z0-9+/]{86}==/g,
];

/** A run of the characters of JSON web tokens. A pattern of the token itself would begin again at each `eyJ` of a run. */
const RUN = /[A-Za-z0-9_.-]{25,}/g;
const TOKEN = /^eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\./;

/** A run without what follows the beginning of its first token. */
function withoutToken(run: string): string {
  for (let begin = 0, end = run.indexOf('.'); end !== -1; begin = end + 1, end = run.indexOf('.', begin)) {
    const at = run.slice(begin, end).search(/(?<![A-Za-z0-9])eyJ/);
    if (at !== -1 && TOKEN.test(run.slice(begin + at, run.indexOf('.', end + 1) + 1 || undefined)))
      return `${run.slice(0, begin + at)}***`;
  }
  return run;
}

/** Nobody reads more of a message. */
const MOST = 20_000;
/** No secret is longer. */
const LONGEST = 8_000;

/**
 * The text with `***` in place of everything that looks like a secret, and no more than `most` of its characters. It is cut
 * first, so that a document in a message costs little. Its last secret may then be half a one, which no pattern
 * recognises, so the end of what was read is not shown.
 */
export function withoutSecrets(text: string, most = MOST): string {
  const isCut = text.length > most;
  const read = isCut ? text.slice(0, most + LONGEST) : text;
  const safe = SECRETS.reduce((left, secret) => left.replaceAll(secret, '$1***'), read.replaceAll(RUN, withoutToken));
  return isCut ? `${safe.slice(0, Math.max(0, Math.min(most, safe.length - (read.length - most))))}…` : safe;
}
