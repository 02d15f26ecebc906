// One mistake a mutant, as people make them: in the documents and pipelines of both examples.
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { compileFunction } from 'node:vm';
import { type Node as JsonNode, parseTree } from 'jsonc-parser';
import { Visitor, parseSync } from 'oxc-parser';
import * as millrace from '../../../src/index.ts';
import type { Pipeline } from '../../../src/definition/specs.ts';

export type FileName = 'requirements' | 'design' | 'pipeline';
export type Texts = Readonly<Record<FileName, string>>;

export interface Mutant {
  readonly operator: string;
  readonly example: string;
  readonly file: FileName;
  /** 1-based. */
  readonly line: number;
  /** What was there and what is there now. */
  readonly what: string;
  readonly text: string;
  /** One of these rules must find it. */
  readonly rules: RegExp;
  /** The finding says one of these; none: whatever it says. */
  readonly words: readonly string[];
  /** Of what is gone with its line: the line that its block begins with. */
  readonly block?: number;
  /** Of a section or type that is gone: its name, which the line found must hold, as it still refers to it. */
  readonly gone?: string;
}

type Of = Partial<Pick<Mutant, 'words' | 'block' | 'gone'>>;

export const NAMES: Readonly<Record<FileName, string>> = {
  requirements: 'cosmosdb_requirements.md',
  design: 'cosmosdb_data_model.md',
  pipeline: 'pipeline.ts',
};

export function textsOf(example: string): Texts {
  const read = (file: FileName): string =>
    readFileSync(new URL(`../../../examples/${example}/${NAMES[file]}`, import.meta.url), 'utf8');
  return { requirements: read('requirements'), design: read('design'), pipeline: read('pipeline') };
}

/** A pipeline's text as a pipeline, without a file: what it imports is handed in; what lies beside it isn't run by rules. */
export function pipelineOf(text: string): Pipeline {
  const body = stripTypeScriptTypes(text)
    .replaceAll(/import\s*\{([^}]*)\}\s*from '(millrace|\.[^']*)';/g, (_, names: string, from: string) =>
      from === 'millrace'
        ? `const {${names}} = millrace;`
        : names.replaceAll(/\w+/g, 'const $& = () => undefined;').replaceAll(',', ''),
    )
    .replaceAll(/^import .*$/gm, '')
    .replace('export default', 'return');
  return compileFunction(body, ['millrace'])(millrace) as Pipeline;
}

/** Every mutant there is of an example. */
export function mutantsOf(example: string): Mutant[] {
  const texts = textsOf(example);
  const found: Mutant[] = [];
  const add = (
    file: FileName,
    operator: string,
    start: number,
    end: number,
    becomes: string,
    rules: RegExp,
    { words = [], ...of }: Of = {},
  ): void => {
    const text = texts[file].slice(0, start) + becomes + texts[file].slice(end);
    if (text === texts[file]) return;
    const was = texts[file].slice(start, end);
    const line = texts[file].slice(0, start).split('\n').length;
    const what = `${was.length > 60 ? `${was.slice(0, 57)}…` : was} → ${becomes || '(nothing)'}`.replaceAll('\n', '⏎');
    found.push({ operator, example, file, line, what, text, rules, words, ...of });
  };
  const lines = (file: FileName, pattern: RegExp, each: (line: string, start: number) => void): void => {
    let start = 0;
    for (const line of texts[file].split('\n')) {
      if (pattern.test(line)) each(line, start);
      start += line.length + 1;
    }
  };
  /** Every match of a group on the lines of a kind. */
  const parts = (
    file: FileName,
    of: RegExp,
    pattern: RegExp,
    operator: string,
    becomes: (part: string, whole: RegExpExecArray) => string[],
    rules: RegExp,
  ): void =>
    lines(file, of, (line, start) => {
      for (const match of line.matchAll(pattern)) {
        const part = match[1] ?? '';
        const at = start + match.index + match[0].indexOf(part);
        for (const text of becomes(part, match)) add(file, operator, at, at + part.length, text, rules);
      }
    });

  examples(texts, add, lines);
  lines('design', /^### \w+ Container/, (line, start) => {
    const next = texts.design.slice(start + 4).search(/^###? /m);
    const name = /^### (\w+)/.exec(line)?.[1] ?? '';
    // Of the design only: the same heading is used for its indexes.
    if (texts.design.indexOf('## Indexing Strategy') > start)
      add('design', 'drop container', start, start + 4 + next, '', /^(A3|G1|G12|A2)$/, { words: [name], gone: name });
  });
  parts(
    'design',
    /^- \*\*Partition Key\*\*/,
    /`((?:\/\w+(?:, )?)+)`/g,
    'change key',
    (key) => [key.replace(/\w+$/, 'none'), ...(key.includes(', ') ? [key.replace(/, \/\w+$/, '')] : [`${key}, /none`])],
    /^(C1|C2|C8|G5|G6|G12|H1)$/,
  );
  parts('design', /^- \*\*TTL\*\*/, /: (-1)/g, 'TTL', () => ['0', '3600'], /^(E7|F1|G7|G9)$/);
  parts('design', /^\| \d+ \|/, /(?<=[ ,|] ?)(\d+) RU \|$/g, 'RU', (ru) => [String(Number(ru) / 10)], /^(B[2-7]|D7)$/);
  parts(
    'design',
    /^- \*\*Throughput/,
    /max ([\d,]+) RU/g,
    'RU',
    (ru) => [String(Number(ru.replace(',', '')) / 10)],
    /^(B11|B12)$/,
  );
  const total = [...texts.requirements.matchAll(/^\| \d+ \|[^|]*\| ([\d.]+)\//gm)].reduce(
    (sum, match) => sum + Number(match[1]),
    0,
  );
  parts(
    'requirements',
    /^\| \d+ \|/,
    /\| ([\d.]+\/[\d.]+) \|/g,
    'RPS',
    (rate) => {
      const [peak = '', average = ''] = rate.split('/');
      // A rate a hundred times too high is a mistake that sums can show only where it counts in them.
      return [
        'TBD',
        '',
        `${average}/${peak}`,
        ...(Number(peak) * 99 > 0.3 * total ? [`${Number(peak) * 100}/${average}`] : []),
      ];
    },
    /^(A1|A7|B11|G4)$/,
  );
  parts(
    'design',
    /^- \*\*Partition Key\*\*/,
    /([\d,.]+(?: million)?) (?:new )?values/g,
    'cardinality',
    () => ['12'],
    /^C2$/,
  );
  parts('requirements', /^- \*\*\w+ → /, /avg ([\d.,]+)/g, 'cardinality', () => ['9,999,999'], /^A6$/);
  let owner = '';
  lines('design', /^### \w+ Container|^- \*\*Included Paths\*\*/, (line, start) => {
    owner = /^### (\w+)/.exec(line)?.[1] ?? owner;
    const rows = texts.design.split('\n').filter((row) => /^\| \d+ \|/.test(row) && row.includes(`| ${owner}`));
    for (const { index, 0: path } of line.matchAll(/\/\w+\/\?/g)) {
      // A path that no query of the container asks for may go.
      const asked = new RegExp(String.raw`c\.${path.slice(1, -2)}\b`).test(rows.join());
      const wrong = [path.replace(/\w+/, swapped), path.slice(0, -2), ...(asked ? [''] : [])];
      for (const becomes of wrong)
        add('design', 'index path', start + index, start + index + path.length, becomes, /^(E2|E4|E5)$/);
    }
  });
  parts('design', /^- \*\*Excluded Paths\*\*/, /`(\/\*)`/g, 'index path', () => ['/none/*'], /^E2$/);
  parts(
    'design',
    /^- \*\*Composite Indexes\*\*|^\[\[\{ "path"/,
    /(ASC|DESC|ascending|descending)/g,
    'index path',
    (order) => [{ ASC: 'DESC', DESC: 'ASC', ascending: 'descending', descending: 'ascending' }[order] ?? ''],
    /^E6$/,
  );
  parts(
    'design',
    /^\| [\w-]+ \| aggregate \|/,
    /(\w+) = (?:count|sum|avg|max|min)\b/g,
    'measure',
    (name) => [swapped(name)],
    /^G2$/,
  );
  parts(
    'design',
    /^\| [\w-]+ \| aggregate \|/,
    /\w+ = (count|sum|avg|max|min)\b/g,
    'measure',
    (kind) => [kind === 'sum' ? 'max' : 'sum'],
    /^G2$/,
  );
  parts(
    'design',
    /^\| [\w-]+ \| aggregate \|/,
    /(\w+ = (?:count|sum|avg|max|min)(?:\([^)]*\))?; )/g,
    'measure',
    () => [''],
    /^G2$/,
  );
  pipelineMutants(texts.pipeline, (operator, start, end, becomes, of) =>
    add('pipeline', operator, start, end, becomes, /^(G\d+|pipeline)$/, of),
  );
  return found;
}

type Add = (
  file: FileName,
  operator: string,
  start: number,
  end: number,
  becomes: string,
  rules: RegExp,
  of?: Of,
) => void;

/** Fields, their JSON types, and whole types of the example documents, each on a line of its own. */
function examples(
  texts: Texts,
  add: Add,
  lines: (file: FileName, pattern: RegExp, each: (line: string, start: number) => void) => void,
): void {
  const all: { line: string; start: number; tree: JsonNode; type: string }[] = [];
  lines('design', /^ {2}\{ "id"/, (line, start) => {
    const json = line.trim().replace(/,$/, '');
    const tree = parseTree(json);
    if (tree) all.push({ line, start: start + 2, tree, type: /"type": "(\w+)"/.exec(line)?.[1] ?? '' });
  });
  const lacking = (type: string, field: string): boolean =>
    all.some((other) => other.type === type && !other.line.includes(`"${field}":`));
  for (const { start, tree, type, line } of all) {
    for (const property of tree.children ?? []) {
      const [name, value] = property.children ?? [];
      if (!name || !value || name.value === 'id' || name.value === 'type') continue;
      const field = String(name.value);
      const at = (node: JsonNode): [number, number] => [start + node.offset, start + node.offset + node.length];
      const referred =
        new RegExp(String.raw`\.${field}\b`).test(texts.pipeline) &&
        new RegExp(String.raw`\.${type}\b`).test(texts.pipeline);
      if (field === 'ttl') {
        for (const becomes of [`"${String(value.value)}"`, '0', '3600'])
          add('design', 'TTL', ...at(value), becomes, /^(E7|F1|D8)$/);
        continue;
      }
      // What only some examples have may be called otherwise in one of them.
      if (!lacking(type, field))
        add('design', 'rename field', ...at(name), `"${swapped(field)}"`, /^(D8|G2|C1|E5|H2|H5|G5|G7)$/, {
          words: [field, swapped(field)],
        });
      const words = [field];
      if (value.type === 'number')
        add('design', 'JSON type', ...at(value), `"${String(value.value)}"`, /^(D8|G2)$/, { words });
      if (value.type === 'string') add('design', 'JSON type', ...at(value), '7', /^(D8|G2|C11)$/, { words });
      if (referred && !lacking(type, field))
        add(
          'design',
          'drop field',
          start + property.offset - 2,
          start + property.offset + property.length,
          '',
          /^(C1|G2|E5|H2|G5|D8)$/,
          { words },
        );
    }
    const same = all.filter((other) => other.type === type);
    const block = texts.design.slice(start - 2);
    // Whole types only, from their first line on, where another type of the container follows.
    if (
      same[0]?.start === start &&
      block.startsWith(`${line}\n`) &&
      same.length < 4 &&
      texts.design.slice(0, start).endsWith('[\n  ')
    ) {
      const end = block.indexOf(`  { "id"`, (same.at(-1)?.start ?? 0) - start + 4);
      const closing = block.indexOf('\n]');
      if (end > 0 && end < closing)
        add('design', 'drop type', start - 2, start - 2 + end, '', /^(G1|E5|G2|type-without-example)$/, {
          words: [type],
          gone: type,
        });
    }
  }
}

/** Renamed, dropped and wrong parts of the declarations. */
function pipelineMutants(
  text: string,
  add: (operator: string, start: number, end: number, becomes: string, of: Of) => void,
): void {
  const { program } = parseSync('pipeline.ts', text);
  const lineAt = (offset: number): number => text.slice(0, offset).split('\n').length;
  const stack: { readonly name: string; readonly line: number }[] = [];
  const inside = (name: string): boolean => stack.some((property) => property.name === name);
  // What is declared only under a condition isn't there to be checked.
  let conditions = 0;
  new Visitor({
    Property(node) {
      const name = node.key.type === 'Identifier' ? node.key.name : '';
      const owner = stack.at(-1);
      stack.push({ name, line: lineAt(node.start) });
      const declared = inside('projections');
      if (!declared || node.shorthand || conditions > 0) return;
      const inMap = owner?.name === 'map';
      const inMeasures = owner?.name === 'measures';
      const inGroup = owner?.name === 'groupBy';
      const rest = /^,?\s*/.exec(text.slice(node.end))?.[0].length ?? 0;
      if (inMap || inMeasures || inGroup) {
        add(inMeasures ? 'measure' : 'rename field', node.key.start, node.key.end, swapped(name), {
          words: [name, swapped(name)],
        });
        const operator = inMeasures ? 'measure' : 'drop field';
        add(operator, node.start, node.end + rest, '', { words: [name], block: owner.line });
      }
    },
    ConditionalExpression() {
      conditions += inside('projections') && !inside('map') ? 1 : 0;
    },
    'ConditionalExpression:exit'() {
      conditions -= inside('projections') && !inside('map') ? 1 : 0;
    },
    'Property:exit'() {
      stack.pop();
    },
    MemberExpression(node) {
      if (
        !inside('projections') ||
        conditions > 0 ||
        node.computed ||
        node.property.type !== 'Identifier' ||
        node.object.type !== 'Identifier'
      )
        return;
      const { name } = node.property;
      if (node.object.name === 'q') {
        const other = ({ sum: 'max', max: 'min', min: 'max', avg: 'sum' } as Record<string, string>)[name];
        if (other !== undefined) add('measure', node.property.start, node.property.end, other, {});
        return;
      }
      const operator = node.object.name === 'm' ? 'drop container' : 'rename field';
      if (node.object.name === 'm' || /^(flight|order|line|variant|row)$/.test(node.object.name))
        add(operator, node.property.start, node.property.end, swapped(name), { words: [name, swapped(name)] });
    },
  }).visit(program);
}

/** Two letters in the wrong order, as typed in haste. */
const swapped = (word: string): string => {
  const at = Array.from(word).findIndex(
    (letter, index) => index > 0 && index < word.length - 1 && letter !== word[index + 1],
  );
  return at < 0 ? `${word}x` : `${word.slice(0, at)}${word[at + 1] ?? ''}${word[at] ?? ''}${word.slice(at + 2)}`;
};
