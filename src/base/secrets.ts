/** Patterns of secrets. The first group of each is the text before the secret, which stays. */
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
  /()\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*/g,
  /()\b[A-Za-z0-9+/]{86}==/g,
];

/** The text with `***` in place of everything that looks like a secret. */
export const withoutSecrets = (text: string): string =>
  SECRETS.reduce((left, secret) => left.replaceAll(secret, '$1***'), text);
