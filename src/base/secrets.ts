/**
 * Patterns of secrets. The first group of each is the text before the secret, which stays. They meet texts of any length and
 * origin, so each must take a time that grows as the text: no two repetitions of a pattern may share a character, and a
 * repetition without a bound begins where the one before it can't.
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
  // JSON web tokens, and Azure keys of 64 bytes.
  // Where a text begins that has the three parts, the first is searched for its beginning: each character is read a few times.
  /((?<![\w-])(?=[\w-]+\.[\w-]{10,}\.)(?:[\w-]*?-)??)eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g,
  /()\b[A-Za-z0-9+/]{86}==/g,
];

/** The most characters that are read, and returned. Nobody reads a message of that length. */
const LONGEST = 200_000;

/** The text with `***` in place of everything that looks like a secret. What is longer than a message is cut before. */
export const withoutSecrets = (text: string): string =>
  SECRETS.reduce((left, secret) => left.replaceAll(secret, '$1***'), cut(text));

/** At a space, because half a secret would not be recognised. */
const cut = (text: string): string =>
  text.length <= LONGEST
    ? text
    : `${text.slice(0, Math.max(0, text.lastIndexOf(' ', LONGEST), text.lastIndexOf('\n', LONGEST)))}…`;
