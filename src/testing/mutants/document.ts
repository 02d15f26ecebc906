// Mutants of the data-model document: keys, TTL, throughput, index paths, the mapping's queries and RU, meanings, the rows
// of the projections, and the examples that projections make.
import { derivedTypes, refName } from '../prove/oracle.ts';
import { indexNeeds } from '../../definition/index-needs.ts';
import type { Pipeline } from '../../definition/specs.ts';
import type { Design } from '../../model/documents.ts';
import { type Mutant, Mutating, otherValue } from './mutant.ts';

const OPPOSITE: Readonly<Record<string, string>> = {
  ASC: 'DESC',
  DESC: 'ASC',
  ascending: 'descending',
  descending: 'ascending',
  sum: 'max',
  avg: 'sum',
  max: 'min',
  min: 'max',
  remove: 'keep',
  subtract: 'keep',
  keep: 'remove',
};

export function documentMutants(
  design: Design,
  pipeline: Pick<Pipeline, 'projections' | 'embeds'>,
  fields: ReadonlyMap<string, string>,
): Mutant[] {
  const mutating = new Mutating('design', design.lines.join('\n'));
  // Comments, such as waivers, state nothing.
  const lines = design.lines.map((line) => line.replaceAll(/<!--.*?-->/g, (comment) => ' '.repeat(comment.length)));
  const starts = lines.reduce<number[]>((all, line) => [...all, (all.at(-1) ?? 0) + line.length + 1], [0]);
  /** Replaces the first group of every match in one line. */
  const inLine = (line: number, pattern: RegExp, becomes: (part: string) => string | undefined, from = 0): void => {
    const text = lines[line - 1] ?? '';
    for (const match of text.slice(from).matchAll(pattern)) {
      const part = match[1] ?? match[0];
      const start = (starts[line - 1] ?? 0) + from + match.index + match[0].indexOf(part);
      const is = becomes(part);
      if (is !== undefined) mutating.replace(start, start + part.length, is);
    }
  };
  /** `implied`: the fields whose condition leaves only documents of one type, so that one on the type changes nothing. */
  const sql = (line: number, within: RegExp, implied: (text: string) => boolean): void => {
    for (const match of (lines[line - 1] ?? '').matchAll(within)) {
      const end = match.index + match[0].length;
      const only =
        (pattern: RegExp) =>
        (becomes: (part: string) => string | undefined): void => {
          for (const found of match[0].matchAll(pattern)) {
            const part = found[1] ?? found[0];
            const start = match.index + found.index + found[0].indexOf(part);
            const is = becomes(part);
            const at = starts[line - 1] ?? 0;
            if (is !== undefined && start + part.length <= end)
              mutating.replace(at + start, at + start + part.length, is);
          }
        };
      only(/((?:(?<=\bWHERE )|\bAND )(?:NOT )?[^()]*?(?:\([^()]*\))?[^()]*?)(?= AND | GROUP | ORDER |`|$)/g)((part) =>
        /\bc\.type\b/.test(part) && implied(match[0]) ? undefined : part.startsWith('AND ') ? '' : 'true',
      );
      only(/>=|<=|(?<= )[<>](?= )/g)((sign) => (sign.length === 2 ? sign.slice(0, 1) : `${sign}=`));
      only(/(?<=c\.)\w+/g)((field) => fields.get(field));
      only(/\bDESC\b/g)(() => 'ASC');
      only(/(?<=\bORDER BY .*)\bc\.\w+(?=\s*(?:OFFSET\b|`|$))/g)((path) => `${path} DESC`);
      // COUNT counts each row, whatever its argument is.
      only(/(?<=[ (,])(?<!\bCOUNT\()(?<!\bLEFT\([^()]*)\d+\b/g)((number) => String(Number(number) + 1));
      // A longer beginning of a text compares with a shorter parameter as the shorter one does.
      only(/(?<=\bLEFT\([^()]*, )\d+\b/g)((number) => String(Number(number) - 1));
    }
  };
  const needs = indexNeeds([...pipeline.projections, ...pipeline.embeds]);
  for (const { container, index } of design.containers) {
    const needed = needs.get(container.name);
    const { partitionKey, defaultTtl, throughput } = container.places;
    if (partitionKey) inLine(partitionKey.line, /(?<=\/)\w+(?=[`,])/g, (field) => fields.get(field));
    if (defaultTtl) inLine(defaultTtl.line, /^[^:]*: (-?\d+)/g, (ttl) => (ttl === '3600' ? '7200' : '3600'));
    if (throughput)
      inLine(throughput.line, /max ([\d,]+)/g, (max) => String(Math.round(Number(max.replaceAll(',', '')) / 10)));
    // `model apply` includes the paths that Millrace needs, whether they are stated or not.
    for (const { at } of [...index.included, ...index.excluded])
      inLine(at.line, /(?:, )?`\/[^`]*`/g, (path) => (needed?.has(path.replaceAll(/[, `]/g, '')) ? undefined : ''));
    for (const { at } of index.composites)
      inLine(at.line, /\b(?:ASC|DESC|ascending|descending)\b/g, (word) => OPPOSITE[word]);
  }
  const implies = impliedTypes(design);
  for (const { at, containers } of design.mapping) {
    sql(at.line, /`SELECT [^`]*`/g, (query) => implies(containers, query));
    inLine(at.line, /([\d,.]+) RU\b/g, (ru) => String(10 * Number(ru.replaceAll(',', ''))));
  }
  for (const { at, text, container } of design.meanings)
    for (const offset of text.split('\n').keys()) sql(at.line + 1 + offset, /.+/g, () => implies([container], text));
  for (const { at } of design.projections) {
    // Behind the name.
    const text = lines[at.line - 1] ?? '';
    const from = text.indexOf('|', 2);
    const word = (part: string): string | undefined => OPPOSITE[part] ?? fields.get(part);
    if (from < 0) continue;
    // The noun of "top 3 days by cents" names no field.
    inLine(at.line, /(?<![\w#-])(?<!\btop \d+ )[a-z]\w*\b/gi, word, from);
    inLine(at.line, /(?<=#)\d+\b/g, (id) => String(Number(id) + 1), from);
    inLine(at.line, /(?<=[ (])\d+(?: (?:s|min|h|d)\b)?(?=[ );|])/g, next, from);
  }
  derivedExamples(design, derivedTypes(pipeline), inLine);
  return mutating.all.toSorted((a, b) => a.line - b.line);
}

/**
 * Whether a condition on the type is implied: every document of the containers is of one type, or a value is compared with
 * a field that only the documents of one type have.
 */
function impliedTypes({ model }: Design): (containers: readonly string[], query: string) => boolean {
  return (containers, query) =>
    model.containers.every(({ name, types }) => {
      if (!containers.includes(name) || types.length < 2) return true;
      const asked = [...query.matchAll(/\bc\.(\w+) = @/g)].map(([, field = '']) => field);
      const having = (field: string): number =>
        types.filter(({ examples }) => examples.some((example) => field in example)).length;
      return asked.some((field) => having(field) === 1);
    });
}

const next = (value: string): string => (/^\d+$/.test(value) ? String(Number(value) + 1) : otherValue(value));

/** The first example of each derived type, because its others state the same fields. */
function derivedExamples(
  { model, exampleLines }: Design,
  derived: ReadonlySet<string>,
  inLine: (line: number, pattern: RegExp, becomes: (part: string) => string) => void,
): void {
  for (const { name: container, types } of model.containers)
    for (const { name: type, examples } of types) {
      const [example] = examples;
      const line = example && exampleLines.get(example);
      if (!example || line === undefined || !derived.has(refName({ container, type }))) continue;
      for (const [field, value] of Object.entries(example)) {
        if (field === 'type' || (typeof value === 'object' && value !== null)) continue;
        const literal = JSON.stringify(value).replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`);
        inLine(line, new RegExp(`(?<="${field}": )${literal}`, 'g'), () =>
          JSON.stringify(
            typeof value === 'number'
              ? value + 1
              : typeof value === 'boolean'
                ? !value
                : typeof value === 'string'
                  ? otherValue(value)
                  : 'x',
          ),
        );
      }
    }
}
