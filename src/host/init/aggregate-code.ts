// The groups and measures of an aggregate, as far as its row states them.
import { type FieldShape, type Writing, fieldsOf, property, refer, variable } from './writing.ts';

/** Windows that a prefix of an ISO 8601 time names, by their names in documents. */
const WINDOWS: Readonly<Record<string, number>> = { year: 4, month: 7, day: 10, date: 10, hour: 13 };
const SIMPLE = new Set(['sum', 'avg', 'min', 'max']);

export function aggregateParts(writing: Writing): string[] {
  const { row, rows, model, from, into, ask } = writing;
  const source = variable(from.type);
  const own = fieldsOf(model, from);
  const sink = fieldsOf(model, into);
  if (row.keys.length === 0) ask('By which fields does it group?');
  const group = row.keys.map((name) => `${property(name)}: ${groupOf(name, writing, own, sink.get(name)) ?? '…'}`);
  const measures = row.as === undefined ? row.measures : (rows.find(({ name }) => name === row.as)?.measures ?? []);
  if (measures.length === 0) ask('Which measures has it?');
  const lines = measures.map(({ field, kind, of }) => {
    const call = measureOf(kind, of, field, own, source);
    if (call === undefined)
      ask(
        `What does "${[field, [kind, of].filter(Boolean).join(' ')].filter(Boolean).join(' = ')}" measure of ${from.type}? node_modules/millrace/docs/reference/measures.md has all measures.`,
      );
    return `  ${property(field || 'unnamed')}: ${call ?? '(q) => …'},`;
  });
  return [`groupBy: (${source}) => ({ ${group.join(', ')} }),`, 'measures: {', ...lines, '},'];
}

/** A field of the source, or the window of its only time. */
function groupOf(name: string, { from, ask }: Writing, own: Map<string, FieldShape>, sink: FieldShape | undefined) {
  const field = own.get(name);
  const source = variable(from.type);
  if (field) {
    if (field.optional || field.nullable) ask(`${name} may be absent in ${from.type}. In which group is it then?`);
    return refer(source, name);
  }
  const length = WINDOWS[name];
  const fits = sink?.values.every((value) => typeof value === 'string' && value.length === length) ?? false;
  const times = [...own].filter(([, { values }]) => values.length > 0 && values.every(isTime));
  const [time, ...others] = times;
  if (length !== undefined && fits && time && others.length === 0 && !time[1].optional && !time[1].nullable)
    return `${refer(source, time[0])}.slice(0, ${length})`;
  const lists = [...own].filter(([, { values }]) => values.some(Array.isArray)).map(([of]) => of);
  if (length !== undefined && times.length > 1)
    ask(`Of which time is ${name}: ${times.map(([of]) => of).join(' or ')} of ${from.type}?`);
  else if (length === undefined && lists.length > 0)
    ask(
      `${name} is no field of ${from.type}. Is it in ${lists.join(' or ')}? Then write \`each: (${source}) => ${refer(source, lists[0] ?? '')}\`.`,
    );
  else ask(`Which expression of ${from.type} is ${name}?`);
  return undefined;
}

const isTime = (value: unknown): boolean => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(value);

/** Undefined: the row doesn't say it. Without a field in brackets, the source's field of the measure's name. */
function measureOf(
  kind: string | undefined,
  of: string,
  name: string,
  own: Map<string, FieldShape>,
  source: string,
): string | undefined {
  const inner = of.replaceAll(/^\(|\)$/g, '').trim();
  if (kind === 'count' && inner === '') return '(q) => q.count()';
  if (kind === undefined || !SIMPLE.has(kind)) return undefined;
  const field = inner === '' ? name : inner;
  const found = own.get(field);
  if (!found || found.shape !== 'number' || found.optional || found.nullable) return undefined;
  return `(q) => q.${kind}((${source}) => ${refer(source, field)})`;
}
