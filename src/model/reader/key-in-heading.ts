// `#### Feedback Container (PK: /topicId)`: the key in a heading.

const PARTITION = String.raw`(?:pk|partition(?:ed|s)?(?:[ _-]?keys?)?(?:[ _-]path)?|分区键|パーティションキー)(?![\p{L}\p{N}_])`;
const KEYED = new RegExp(String.raw`\b${PARTITION}\s*(?:by|on|is|[:=])?\s*\x60?(?<key>\/[\p{L}_][\w/]*)`, 'iu');
const AT_END = /\s(?:\(|[–—-]\s|\[)`?(?<key>\/[\p{L}_]\w*)`?[)\]]?$/u;
/** A path behind several words, as in "Login Page (/login)", is any path. */
const ONE_WORD = /^[\d.\s]*(?!documentation|frontend|backend|api\b)[\p{L}\p{N}_-]+$/iu;
const OF_CONTAINER = /\b(?:container|collection|partition\w*)s?\b|コンテナ|容器/i;
/** A longer heading names nothing. */
const LONGEST_HEADING = 400;

export function keyInHeading(title: string): string | undefined {
  if (!title.includes('/') || title.length > LONGEST_HEADING) return undefined;
  const key = KEYED.exec(title)?.groups?.['key'];
  if (key !== undefined) return key;
  const end = AT_END.exec(title);
  const words = title.slice(0, end?.index);
  return end && (ONE_WORD.test(words) || OF_CONTAINER.test(words)) ? end.groups?.['key'] : undefined;
}
