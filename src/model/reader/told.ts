// Containers whose keys a text tells: "the `orders` container is partitioned by `/storeId`", "`orders` (pk: `/storeId`)".
// A name must be marked as one, or stand beside the word container; between it and its key stand only words that bind them.
import { labelName } from './labels.ts';

export interface Told {
  readonly name: string;
  readonly key: string;
}

const KEY = String.raw`\x60?(?<key>\/[\p{L}_][\w]*(?:\/[\p{L}_]\w*)*)\x60?`;
const PARTITION = String.raw`(?:pk|partition(?:ed|s)?(?:[ _-]?keys?)?(?:[ _-]path)?|分区键|パーティションキー)(?![\p{L}\p{N}_])`;
const BINDING = String.raw`(?:[\s(,:;=–—-]|\b(?:containers?|collections?|cosmos|db|azure|is|are|it|its|has|have|having|with|med|mit|con|avec|uses?|using|by|on|of|and|the|a|now)\b)*`;

const FORMS: readonly RegExp[] = [
  // `` `orders` (pk: `/storeId`) ``, `` `orders` container with partition key `/storeId` ``.
  new RegExp(String.raw`\x60(?<name>[\p{L}_][\p{L}\p{N}_-]*)\x60${BINDING}\b${PARTITION}${BINDING}${KEY}`, 'giu'),
  // "The orders container is partitioned by /storeId".
  new RegExp(
    String.raw`(?<![\p{L}\p{N}_-])(?<name>[\p{L}_][\p{L}\p{N}_-]*)\s+(?:container|collection)\b${BINDING}\b${PARTITION}${BINDING}${KEY}`,
    'giu',
  ),
  // "Container orders: partition key /storeId".
  new RegExp(
    String.raw`\b(?:container|collection)\s+(?<name>[\p{L}_][\p{L}\p{N}_-]*)${BINDING}\b${PARTITION}${BINDING}${KEY}`,
    'giu',
  ),
];
/** `` `orders` (`/storeId`) ``, in a text that speaks of containers. */
const BRACKETED = /`(?<name>[\p{L}_][\p{L}\p{N}_-]*)`\s*(?:\(|[–—:→-]{1,2}\s?)\s*`(?<key>\/[\p{L}_]\w*)`/giu;
/** What every one of the forms has in it. */
const OF_KEYS = /pk|partition|分区键|パーティションキー/i;
const OF_CONTAINERS = /\b(containers?|partition(ed)?|cosmos)\b|コンテナ|容器/i;

/** Words before "container" that are no name. */
const NO_NAME =
  /^(a|an|the|this|that|each|every|all|one|two|same|single|main|new|second|other|another|separate|own|shared|legacy|target|default|existing|lease|leases|cosmos|db|cosmosdb|database|azure|nosql|sql|source|destination|and|or|of|in|for|to|is|with|by|current|dedicated|partitioned|container|key|named|called|id|name|using|uses|(?:my|your|example|sample|some|foo)[-_]?\w*container)$/i;
/** The text weighs a key, or says what it was. */
const UNDECIDED =
  /\b(if|would|could|might|instead of|rejected|alternatives?|considered|considering|rather than|option \w|previously|formerly|not partitioned|deprecated)\b/i;

/** A longer text is no statement, and the forms take time with the square of its blanks. */
const LONGEST = 1200;

/** `heading`: that of the text's section. */
export function toldIn(source: string, heading = ''): Told[] {
  if (source.length > LONGEST || !source.includes('/')) return [];
  const found: Told[] = [];
  for (const sentence of source.split(/(?<=[.;])\s+(?=\p{Lu})/u)) {
    if (UNDECIDED.test(sentence)) continue;
    const text = marked(sentence);
    // A bold word before a path may be any label.
    const bracketed = OF_CONTAINERS.test(`${heading} ${text}`) ? [...sentence.matchAll(BRACKETED)] : [];
    const formed = OF_KEYS.test(text) ? FORMS.flatMap((form) => [...text.matchAll(form)]) : [];
    for (const match of [...formed, ...bracketed]) {
      const { name = '', key = '' } = match.groups ?? {};
      if (!NO_NAME.test(name) && labelName(name) === undefined && !found.some((one) => one.name === name))
        found.push({ name, key });
    }
  }
  return found;
}

/** Names and paths in bold, italics or quotes are marked as those in backticks are. */
const marked = (text: string): string =>
  text
    .replaceAll(/\*{1,3}\x60?(\/?[\p{L}_][\p{L}\p{N}_/-]*)\x60?\*{1,3}/gu, '`$1`')
    .replaceAll(/["'“‘](\/?[\p{L}_][\p{L}\p{N}_/-]*)["'”’]/gu, '`$1`')
    .replaceAll(/\*\*/g, '')
    .replaceAll(/\s+/g, ' ');

const KEYED = new RegExp(String.raw`\b${PARTITION}\s*(?:by|on|is|[:=])?\s*\x60?(?<key>\/[\p{L}_][\w/]*)`, 'iu');
const AT_END = /\s(?:\(|[–—-]\s|\[)`?(?<key>\/[\p{L}_]\w*)`?[)\]]?$/u;
/** A path behind several words, as in "Login Page (/login)", is any path. */
const ONE_WORD = /^[\d.\s]*(?!documentation|frontend|backend|api\b)[\p{L}\p{N}_-]+$/iu;
const OF_CONTAINER = /\b(?:container|collection|partition\w*)s?\b|コンテナ|容器/i;
/** A longer heading names nothing. */
const LONGEST_HEADING = 400;

/** `#### Feedback Container (PK: /topicId)`: the key in a heading. */
export function keyInHeading(title: string): string | undefined {
  if (!title.includes('/') || title.length > LONGEST_HEADING) return undefined;
  const key = KEYED.exec(title)?.groups?.['key'];
  if (key !== undefined) return key;
  const end = AT_END.exec(title);
  const words = title.slice(0, end?.index);
  return end && (ONE_WORD.test(words) || OF_CONTAINER.test(words)) ? end.groups?.['key'] : undefined;
}
