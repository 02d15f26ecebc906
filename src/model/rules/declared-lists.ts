// Fields that a list or a table names one after the other: `- **User**: id, email, posts[] (ids of posts)`, and a row with
// the name of a container and a cell of fields.
import type { Design } from '../documents.ts';
import type { RuleDeclared } from './declaration.ts';

const ITEM = /^\s*[-*+]\s+[*_`]{1,3}(?<entity>[A-Za-z][\w -]{0,40}?)[*_`]{0,3}\s*:[*_]{0,2}\s*(?<fields>\S.*)$/;
const FIELD = /^`?(?<field>[a-z_]\w*)`?(?<array>\[\])?(?<optional>\?)?(?:\s*[:=]\s*[\w[\]<>"'|. ]{1,30})?$/;
/** Fewer names are words of a sentence. */
const FEWEST = 4;

/** What stands in brackets explains the name before it. */
const withoutBrackets = (text: string): string => {
  let [plain, depth] = ['', 0];
  for (const letter of text) {
    if (letter === '(' || letter === '{') depth += 1;
    if (depth === 0) plain += letter;
    if ((letter === ')' || letter === '}') && depth > 0) depth -= 1;
  }
  return plain;
};

/** The names, if the text has nothing else; all of one word, so that no sentence with commas is taken for fields. */
function namesIn(text: string): Omit<RuleDeclared, 'at'>[] {
  const parts = withoutBrackets(text)
    .split(',')
    .map((part) => part.trim().replace(/\.$/, ''));
  const named = parts.map((part) => FIELD.exec(part)?.groups);
  const known = named.filter((groups) => groups !== undefined);
  return known.length >= FEWEST && known.length === parts.length && isOfDocument(known)
    ? known.map(({ field = '', array, optional }) => ({
        field,
        array: array !== undefined,
        optional: optional !== undefined,
      }))
    : [];
}

/** One of them is an id, or written as no word is. */
const isOfDocument = (names: readonly { readonly [name: string]: string | undefined }[]): boolean =>
  names.some(({ field = '' }) => field === 'id' || /[a-z][A-Z]|_/.test(field));

export function listedIn({ lines, file }: Design): RuleDeclared[] {
  return lines.flatMap((line, index): RuleDeclared[] => {
    if (!line.includes(',') || line.length > 1000) return [];
    const at = { file, line: index + 1 };
    const { entity, fields } = ITEM.exec(line)?.groups ?? {};
    if (entity !== undefined && fields !== undefined) return namesIn(fields).map((one) => ({ ...one, entity, at }));
    // `card_id, player, price`, a line of a fence.
    if (/^[a-z]\w*(?:,\s*[a-z]\w*)+,?$/i.test(line))
      return namesIn(line.replace(/,$/, '')).map((one) => ({ ...one, at }));
    if (!line.trimStart().startsWith('|')) return [];
    const [first = '', ...cells] = line.split('|').slice(1, -1);
    const name = /^\s*[*_`]{0,3}([A-Za-z][\w-]*)[*_`]{0,3}\s*$/.exec(first)?.[1];
    return name === undefined
      ? []
      : cells.flatMap((cell) => namesIn(cell.trim()).map((one) => ({ ...one, entity: name, at })));
  });
}
