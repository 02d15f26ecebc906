// The code of the projections that a document's rows state. What a row doesn't say is asked in a comment, and the
// projection stays a comment until it is answered: a guess would pass every check and derive something else.
import type { ProjectionRow, Reference } from '../../model/documents.ts';
import { type Model, containerOf, examplesOf } from '../../model/model.ts';
import { aggregateParts } from './aggregate-code.ts';
import { type Writing, fieldsOf, onlyType, property, quoted, refer, short, typeRef, variable } from './writing.ts';

export interface ProjectionCode {
  readonly name: string;
  /** The builder that it calls; undefined: it can't be written. */
  readonly builder?: 'copy' | 'aggregate' | 'embed' | 'reference';
  /** The types whose changes it needs. */
  readonly reads: readonly Writing['from'][];
  readonly lines: readonly string[];
  /** Empty: the row says everything. */
  readonly questions: readonly string[];
}

/** The code of one row; `rows`: all of them, because one may have the measures of another. */
export function projectionCode(model: Model, row: ProjectionRow, rows: readonly ProjectionRow[]): ProjectionCode {
  const questions: string[] = [];
  const ask = (question: string): void => void questions.push(question);
  const whole = (of: Reference | undefined, text: string, what: string): Writing['from'] | undefined => {
    const type = of?.type ?? onlyType(model, of);
    if (of && type !== undefined && examplesOf(model, { container: of.container, type }).length > 0)
      return { container: of.container, type };
    ask(`Its ${what} is "${short(text)}". Which container and type is that?`);
    return undefined;
  };
  const builder = builderOf(row.kind);
  if (builder === undefined) {
    const kind = row.kind === '' ? 'no kind' : `the kind ${row.kind}`;
    ask(
      `It has ${kind}, whose code says more than a row. node_modules/millrace/docs/projections.md shows it. It reads ${short(row.sourceText)}${row.sinkText.trim() === '' ? '' : ` and writes ${short(row.sinkText)}`}.`,
    );
    return { name: row.name, reads: [], lines: [], questions };
  }
  const from = whole(row.source, row.sourceText, 'source');
  const into = whole(row.sink, row.sinkText, 'sink');
  if (!from || !into) return { name: row.name, builder, reads: [], lines: [], questions };
  const condition = conditionIn(row.sourceText);
  if (condition !== '')
    ask(`What does "${condition}" mean in code? Write a condition as \`where: (${variable(from.type)}) => …\`.`);
  const writing: Writing = { model, row, rows, from, into, ask };
  const parts = { copy: copyParts, aggregate: aggregateParts, embed: embedParts, reference: referenceParts }[builder](
    writing,
  );
  const lag = /^\d+(\.\d+)? ?(ms|s|min|h|d)$/.exec(row.lagText.trim())?.[0];
  const lines = [
    `${builder}(${quoted(row.name)}, {`,
    `  from: ${typeRef(from)},`,
    `  into: ${typeRef(into)},`,
    ...(lag === undefined ? [] : [`  maxLag: ${quoted(lag)},`]),
    ...(builder !== 'embed' && /^\W*keep/i.test(row.deletes) ? [`  onDelete: 'keep',`] : []),
    ...parts.map((line) => `  ${line}`),
    '}),',
  ];
  const reads = [
    from,
    ...row.joins.flatMap((of) => {
      const type = of.type ?? onlyType(model, of);
      return type === undefined ? [] : [{ container: of.container, type }];
    }),
  ];
  return { name: row.name, builder, reads, lines, questions };
}

const builderOf = (kind: string): ProjectionCode['builder'] =>
  (['copy', 'aggregate', 'embed', 'reference'] as const).find((name) => kind === name);

/** What a source says beside its types and `with`: a condition, which a program must say more exactly. */
const conditionIn = (text: string): string =>
  short(text)
    .replaceAll(/[\p{L}_][\p{L}\p{N}_-]*\s*\([\p{L}_][\p{L}\p{N}_-]*\)/gu, '')
    .replaceAll(/^[\p{L}_][\p{L}\p{N}_-]*$/gu, '')
    .replaceAll(/\bwaits for (it|them)\b/gi, '')
    .replaceAll(/^[\s,;]*(?:(?:with|and)\b[\s,;]*)*|[\s,;]+$/gi, '')
    .trim();

/** `id = id`, `sku = variantSku`: the sink's field and the source's. */
function mappedKeys({ row }: Writing): Map<string, string> {
  const pairs = row.keyText.replaceAll('`', '').matchAll(/([\p{L}_]\w*)\s*=\s*([\p{L}_][\w.]*)/gu);
  return new Map([...pairs].map(([, to = '', from = '']) => [to, from.split('.').at(-1) ?? '']));
}

/** The `map` of a copy: an expression for each field of the sink's examples. */
function mapOf(writing: Writing, joins: ReadonlyMap<string, Writing['from']>, leave: ReadonlySet<string>): string[] {
  const { model, row, from, into, ask } = writing;
  const source = variable(from.type);
  const own = fieldsOf(model, from);
  const keys = mappedKeys(writing);
  const waits = /\bwaits\b/i.test(row.sourceText);
  const lines: string[] = [];
  for (const [name, wanted] of fieldsOf(model, into)) {
    if (name === 'type' || name.startsWith('_') || leave.has(name)) continue;
    const said = row.pairs.find(({ to }) => to === name)?.from ?? keys.get(name) ?? name;
    const [first = '', second] = said.split('.');
    const join = second === undefined ? undefined : joins.get(first);
    const found = join ? fieldsOf(model, join).get(second ?? '') : second === undefined ? own.get(first) : undefined;
    if (!found) {
      ask(`Where does ${name} of ${into.type} come from?`);
      lines.push(`  ${property(name)}: …,`);
      continue;
    }
    const lacks = found.optional || found.nullable || (join !== undefined && !waits);
    const expression = join ? refer(`${first}?`, second ?? '').replace('?[', '?.[') : refer(source, first);
    if (found.shape !== wanted.shape && wanted.shape !== '')
      ask(`${said} of ${from.type} has another type than ${name} of ${into.type}. How is it made?`);
    else if (lacks && !wanted.nullable && !(wanted.optional && !join && !found.nullable))
      ask(`What is ${name} of ${into.type} where ${join ? `there is no ${first}` : `${said} is absent`}?`);
    lines.push(`  ${property(name)}: ${expression}${lacks && wanted.nullable ? ' ?? null' : join ? ` ?? ''` : ''},`);
  }
  const given = joins.size > 0 ? `${source}, { ${[...joins.keys()].join(', ')} }` : source;
  return [`map: (${given}) => ({`, ...lines, '}),'];
}

function copyParts(writing: Writing): string[] {
  const { row, model, from, ask } = writing;
  const joins = new Map<string, Writing['from']>();
  const withs: string[] = [];
  const own = fieldsOf(model, from);
  for (const of of row.joins) {
    const type = of.type ?? onlyType(model, of);
    if (type === undefined) {
      ask(`It reads ${of.container} beside its source. Which type?`);
      continue;
    }
    const joined = { container: of.container, type };
    const name = variable(type);
    if (joins.has(name)) ask(`It reads ${of.container} twice. By which fields?`);
    joins.set(name, joined);
    const levels = (containerOf(model, of.container)?.partitionKey ?? []).map((path) => path.slice(1));
    const on = [...new Set([...levels, 'id'])].map((field) => {
      const named = field === 'id' ? [`${type}Id`, `${type}_id`] : [field];
      const found = named.find((candidate) => own.has(candidate));
      if (found === undefined) ask(`Which field of ${from.type} is the ${field} of its ${type}?`);
      return `${property(field)}: ${found === undefined ? '…' : quoted(found)}`;
    });
    const waits = /\bwaits\b/i.test(row.sourceText) ? `, missing: 'wait'` : '';
    withs.push(`  ${name}: { of: ${typeRef(joined)}, on: { ${on.join(', ')} }${waits} },`);
  }
  return [...(withs.length === 0 ? [] : ['with: {', ...withs, '},']), ...mapOf(writing, joins, new Set())];
}

/** `storeId = storeId, storeId = id`: fields of the child, and of the parent. */
function embedParts(writing: Writing): string[] {
  const { row, model, from, into, ask } = writing;
  const [parent, child] = [fieldsOf(model, from), fieldsOf(model, into)];
  const pairs = [...row.keyText.replaceAll('`', '').matchAll(/([\p{L}_]\w*)\s*=\s*([\p{L}_]\w*)/gu)];
  if (pairs.length === 0) ask(`Which field of ${into.type} names its ${from.type}?`);
  const strange = pairs.filter(([, ofChild = '', ofParent = '']) => !child.has(ofChild) || !parent.has(ofParent));
  if (strange.length > 0)
    ask(
      `"${strange.map(([text]) => text).join(', ')}" names fields that ${into.type} and ${from.type} don't have. Are they in a list of ${into.type}? Then write \`embedEach\` with \`each\` and \`onEach\`.`,
    );
  const names = short(row.fieldsText)
    .split(/\s*[,;]\s*/)
    .filter(Boolean);
  const set = names.map((text) => {
    const [of = '', to = of] = text.split(/\s*(?:→|->|=>)\s*/);
    if (!parent.has(of)) ask(`"${text}" is no field of ${from.type}. What is written into ${into.type}?`);
    return `  ${property(to)}: (${variable(from.type)}) => ${refer(variable(from.type), of)},`;
  });
  if (set.length === 0) ask(`Which fields of ${from.type} does it write?`);
  const on = pairs.map(([, ofChild = '', ofParent = '']) => `${property(ofParent)}: ${quoted(ofChild)}`);
  return [`on: { ${on.join(', ')} },`, 'set: {', ...set, '},'];
}

function referenceParts(writing: Writing): string[] {
  const { row, model, ask } = writing;
  const [of] = row.joins;
  const type = of?.type ?? onlyType(model, of);
  if (!of || type === undefined) {
    ask('Which type names the tenants that get a copy?');
    return mapOf(writing, new Map(), new Set(row.keys));
  }
  const tenants = { container: of.container, type };
  const fields = fieldsOf(model, tenants);
  const key = row.keys.map((field) => {
    if (!fields.has(field)) ask(`Which field of ${type} is ${field}?`);
    return `${property(field)}: ${quoted(field)}`;
  });
  return [
    `tenants: ${typeRef(tenants)},`,
    `key: { ${key.join(', ')} },`,
    ...mapOf(writing, new Map(), new Set(row.keys)),
  ];
}
