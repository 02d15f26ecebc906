// What `model propose` works from: the entities, and what each access pattern asks for, in a fixed grammar.
import type { Relationship, Requirements } from '../documents.ts';
import { outlineOf } from '../reader/common.ts';
import { within } from '../reader/text/outline.ts';
import { bytesOf, duration, quantities } from '../reader/text/quantity.ts';
import { parseRequirements } from '../reader/requirements.ts';
import { column, hasColumns, tablesOf } from '../reader/text/tables.ts';
import { words } from '../relations.ts';

export interface ProposedField {
  readonly name: string;
  /** How many different values it has. */
  readonly values?: number;
  /** The part of all documents, and of the load, that the value with the most has. */
  readonly largest?: number;
}

export interface Entity {
  readonly name: string;
  readonly fields: readonly ProposedField[];
  readonly bytes: number;
  /** How many documents there are. */
  readonly count: number;
  /** Seconds that a document is kept. */
  readonly keptSeconds?: number;
}

export interface NeededAccess {
  readonly id: string;
  readonly description: string;
  readonly kind: 'read' | 'list' | 'total' | 'create' | 'update' | 'delete';
  readonly entity: string;
  /** The fields that the request knows; of a total: its group. */
  readonly by: readonly string[];
  readonly order?: { readonly field: string; readonly descending: boolean };
  readonly limit?: number;
  /** Of a read: the children that are read with it. */
  readonly withs: readonly string[];
  /** Of a total: the fields that are added up. */
  readonly sums: readonly string[];
  /** The fields that it reads or writes, as the requirements say them. */
  readonly attributes: string;
  readonly peak: number;
  readonly average: number;
}

export interface Needs {
  readonly title: string;
  readonly requirements: Requirements;
  readonly text: string;
  readonly entities: readonly Entity[];
  readonly accesses: readonly NeededAccess[];
  readonly relationships: readonly Relationship[];
}

/** A fact that a proposal needs and the requirements don't have. */
export interface ProposedQuestion {
  readonly line: number;
  readonly question: string;
}

/** `status (6 values)`, `tenantId (5,000 values, largest 12 %)`, `email (unique)`. */
const FIELD = /^`?([\p{L}_]\w*)`?(?:\s*\((?:([\d,]+) values(?:, ?largest ([\d.]+) ?%)?|(unique))\))?$/iu;

export function needsOf(
  text: string,
  file: string,
): { readonly needs: Needs; readonly questions: readonly ProposedQuestion[] } {
  const requirements = parseRequirements(text, file);
  const questions: ProposedQuestion[] = [];
  const entities = entitiesOf(text, file, questions);
  const names = entities.map(({ name }) => name);
  const accesses = requirements.patterns.flatMap((pattern): NeededAccess[] => {
    const line = pattern.at.line;
    const said = Object.entries(pattern.cells).find(([header]) => /^access$/i.test(header.trim()))?.[1] ?? '';
    const asked = said === '' ? undefined : accessOf(said, entities);
    if (typeof asked !== 'object') {
      const form = `Write it in the column Access, such as \`${FORMS.join('`, `')}\`, about one of: ${names.join(', ') || 'the entities'}.`;
      questions.push({
        line,
        question: `What does pattern ${pattern.printed} ask for${asked === undefined ? '' : ` (${asked})`}? ${form}`,
      });
      return [];
    }
    const { peak, average = peak, per } = pattern.rate ?? {};
    const written = `pattern ${pattern.printed} has "${pattern.rateText}"`;
    if (per !== undefined) {
      questions.push({
        line,
        question: `How often is it asked for in a second? The rate of ${written}, which is per ${per}.`,
      });
      return [];
    }
    if (peak !== undefined && average !== undefined && average > peak) {
      questions.push({
        line,
        question: `Which is the peak? The rate of ${written}, where the average is the higher one. Write the peak first, such as 50/10.`,
      });
      return [];
    }
    if (peak === undefined || average === undefined) {
      questions.push({
        line,
        question: `How often is pattern ${pattern.printed} asked for? Write its peak and its average a second, such as 50/10.`,
      });
      return [];
    }
    return [
      { id: pattern.id, description: pattern.description, attributes: pattern.attributes, ...asked, peak, average },
    ];
  });
  questions.push(...unknownValues(accesses, entities, requirements));
  if (requirements.patterns.length === 0)
    questions.push({
      line: 1,
      question:
        'Which access patterns are there? Write a row for each into a table with the columns Pattern, Description, RPS, Type and Access.',
    });
  const { title, relationships } = requirements;
  return { needs: { title, requirements, text, entities, accesses, relationships }, questions };
}

/** A list's rows, and a key's values, follow from the number of values of the fields by which patterns ask. */
function unknownValues(
  accesses: readonly NeededAccess[],
  entities: readonly Entity[],
  { patterns }: Requirements,
): ProposedQuestion[] {
  const asked = new Map<string, ProposedQuestion>();
  for (const { id, entity: name, by } of accesses)
    for (const field of by) {
      const entity = entities.find((one) => one.name === name);
      const known = entity?.fields.find((one) => one.name === field)?.values !== undefined;
      if (known || field === 'id' || entities.some((one) => words(`${one.name}Id`) === words(field))) continue;
      const line = patterns.find((one) => one.id === id)?.at.line ?? 1;
      const question = `How many values has ${field} of ${name}? Write it behind the field: ${field} (500 values), or ${field} (unique).`;
      if (!asked.has(`${name}.${field}`)) asked.set(`${name}.${field}`, { line, question });
    }
  return [...asked.values()];
}

const ENTITY = ['entity', 'name'];

const SHORT: Readonly<Record<string, string>> = { y: 'years', yr: 'years', yrs: 'years', mo: 'months', w: 'weeks' };

/** `2 y` and `6 mo`, in a cell that has only a time, with their unit written out. */
const written = (time: string): string =>
  time.replaceAll(
    /(\d)\s?(yrs?|y|mo|w)\b/gi,
    (_, digit: string, unit: string) => `${digit} ${SHORT[unit.toLowerCase()]}`,
  );

function entitiesOf(text: string, file: string, questions: ProposedQuestion[]): Entity[] {
  const tables = [...within(outlineOf(text, file))].flatMap(({ blocks }) => tablesOf(blocks, text, file));
  const rows = tables.filter((table) => hasColumns(table, ENTITY, ['fields'])).flatMap((table) => table.rows);
  if (rows.length === 0)
    questions.push({
      line: 1,
      question: 'Which entities are there? Write a table with the columns Entity, Fields, Size, Documents and Kept.',
    });
  return rows.flatMap((row): Entity[] => {
    const name = (column(row, ENTITY) ?? '').replaceAll('`', '').trim();
    const count = quantities(column(row, ['documents', 'number of documents', 'count']) ?? '')[0]?.high;
    const parts = (column(row, ['fields']) ?? '').split(/,\s*(?![^(]*\))/).map((part) => FIELD.exec(part.trim()));
    const fields = parts.flatMap((part): ProposedField[] => {
      if (!part?.[1]) return [];
      const [, field, values, largest, unique] = part;
      return [
        {
          name: field,
          ...(values !== undefined && { values: Number(values.replaceAll(',', '')) }),
          ...(unique !== undefined && count !== undefined && { values: count }),
          ...(largest !== undefined && { largest: Number(largest) / 100 }),
        },
      ];
    });
    const sizeText = column(row, ['size']) ?? '';
    const bytes = quantities(sizeText)
      .map(bytesOf)
      .find((size) => size !== undefined);
    const keptText = column(row, ['kept', 'retention']) ?? '';
    const ask = (question: string): void => void questions.push({ line: row.at.line, question });
    const kept = duration(written(keptText));
    if (parts.some((part) => !part))
      ask(`Which fields does ${name} have? Write names with commas: id, customerId, status (6 values).`);
    if (!fields.some((field) => field.name === 'id')) ask(`Which field identifies one ${name}? Name it id.`);
    if (bytes === undefined)
      ask(
        /\d/.test(sizeText)
          ? `Which unit has the size of ${name}, "${sizeText}"? Write it, such as ${/\d[\d.,]*/.exec(sizeText)?.[0]} KB.`
          : `How large is one ${name}? Write its size, such as 1 KB.`,
      );
    if (kept === undefined && /\d/.test(keptText))
      ask(
        `Which unit has the time that ${name} is kept, "${keptText}"? Write it, such as ${/\d[\d.,]*/.exec(keptText)?.[0]} d.`,
      );
    if (count === undefined) ask(`How many documents of ${name} are there? Write the number.`);
    if (name === '') return [];
    // Without a size nothing is proposed, but the patterns can be read.
    return [
      {
        name,
        fields,
        bytes: bytes ?? 0,
        count: count ?? 0,
        ...(kept !== undefined && { keptSeconds: Math.round(kept / 1000) }),
      },
    ];
  });
}

export const FORMS = [
  'read order by id',
  'read order by id, with lines',
  'list order by customerId, newest placedAt, limit 20',
  'total order by storeId, sum cents',
  'create order',
  'update order',
  'delete order',
];

/** In words, what is wrong with the text. */
export function accessOf(
  text: string,
  entities: readonly Entity[],
): Omit<NeededAccess, 'id' | 'description' | 'attributes' | 'peak' | 'average'> | string {
  const plain = text.replaceAll('`', '').trim();
  const [, verb = '', noun = '', rest = ''] = /^(read|list|total|create|update|delete) (\w+)\b(.*)$/i.exec(plain) ?? [];
  const entity = entities.find(({ name }) => words(name) === words(noun));
  if (verb === '') return `"${plain}" has another form`;
  if (!entity) return `there is no entity ${noun}`;
  const kind = verb.toLowerCase() as NeededAccess['kind'];
  const by: string[] = [];
  const sums: string[] = [];
  const withs: string[] = [];
  let order: NeededAccess['order'];
  let limit: number | undefined;
  const clauses = rest
    .split(',')
    .map((clause) => clause.trim())
    .filter((clause) => clause !== '');
  for (const clause of clauses) {
    const [, word = '', value = ''] = /^(?:(by|sum|newest|oldest|limit|with) )?(\w+)$/i.exec(clause) ?? [];
    const known = entity.fields.some(({ name }) => name === value);
    if (word.toLowerCase() === 'limit' && /^\d+$/.test(value)) limit = Number(value);
    else if (word.toLowerCase() === 'with') {
      const child = entities.find(({ name }) => words(name) === words(value));
      if (!child) return `there is no entity ${value}`;
      if (!child.fields.some(({ name }) => words(name) === words(`${entity.name}Id`)))
        return `${child.name} has no field ${entity.name.toLowerCase()}Id`;
      withs.push(child.name);
    } else if (!known) return `${entity.name} has no field ${value || clause}`;
    else if (/^(newest|oldest)$/i.test(word)) order = { field: value, descending: word.toLowerCase() === 'newest' };
    else if (/^sum$/i.test(word)) sums.push(value);
    else by.push(value);
  }
  if (['read', 'list', 'total'].includes(kind) && by.length === 0)
    return `a ${kind} names the fields that the request knows: by id`;
  if (kind === 'read' && !by.includes('id')) return 'a read names the id; use list';
  if (withs.length > 0 && kind !== 'read') return 'only a read has children with it';
  return { kind, entity: entity.name, by, sums, withs, ...(order && { order }), ...(limit !== undefined && { limit }) };
}
