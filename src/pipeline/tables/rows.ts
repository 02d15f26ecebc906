// The rows of one document. Every value is one that PostgreSQL gives back as it is, or it is refused with its path.
import { pointerPart } from '../../base/json-pointer.ts';
import { canonical, isObject, shown } from '../../base/json.ts';
import { exampleValueAt } from '../../model/model.ts';
import { definitionError } from '../errors.ts';
import type { Doc } from '../specs.ts';
import { type ChildTable, type Column, EXTRA, type IdentityColumn, POSITION, type TableLayout } from './layout.ts';
import { momentOf, wrongDay } from '../../model/moments.ts';

/** By column. A number of a `bigint` or `numeric` column is its decimal text; a moment is UTC text; jsonb is JSON. */
export type Cells = Readonly<Record<string, unknown>>;

/** What one document is in the tables. Plain JSON, and the same for equal contents. */
export interface DocumentRows {
  readonly root: Cells;
  /** By child table. */
  readonly children: Readonly<Record<string, readonly Cells[]>>;
}

/** @throws MillraceError `table-value`, `table-field` */
export function rowsOf(layout: TableLayout, doc: Doc): DocumentRows {
  const root: Record<string, unknown> = {};
  for (const column of layout.identity) root[column.name] = identityCell(column, exampleValueAt(doc, column.path));
  const known = new Set([...layout.passed, ...layout.children.map(({ field }) => field)]);
  Object.assign(root, cellsOf(layout, doc, '', known));
  const children = layout.children.map((child) => [child.name, childRows(child, doc[child.field])] as const);
  return { root, children: Object.fromEntries(children) };
}

/** A column of the identity from a value of the key, the id or the tenant. @throws MillraceError `table-value` */
export function identityCell({ type, path }: IdentityColumn, value: unknown): unknown {
  if (value === null || value === undefined) throw wrong(path, 'is missing, and a primary key has no null');
  return cell(type, value, path);
}

function cellsOf(
  { columns, extra }: Pick<TableLayout, 'columns' | 'extra'>,
  doc: Doc,
  path: string,
  known: ReadonlySet<string>,
): Cells {
  const cells: Record<string, unknown> = {};
  const own = new Set(known);
  for (const { field, name, type } of columns) {
    if (field === undefined) continue;
    own.add(field);
    const value = doc[field];
    cells[name] = value === undefined || value === null ? null : cell(type, value, `${path}/${pointerPart(field)}`);
  }
  const rest = Object.entries(doc).filter(([field, value]) => !own.has(field) && value !== undefined);
  const [unknown] = rest;
  if (extra === 'refuse') {
    if (unknown)
      throw definitionError(
        'table-field',
        `${path}/${pointerPart(unknown[0])} is a field that the table has no column for`,
      );
    return cells;
  }
  for (const [field, value] of rest) assertJson(value, `${path}/${pointerPart(field)}`);
  return { ...cells, [EXTRA]: rest.length === 0 ? null : plainJson(Object.fromEntries(rest)) };
}

function childRows(child: ChildTable, list: unknown): Cells[] {
  const path = `/${pointerPart(child.field)}`;
  if (list === undefined || list === null) return [];
  if (!Array.isArray(list)) throw wrong(path, `is ${shown(list)}, not a list`);
  const keys = new Set<string>();
  return list.map((element: unknown, at): Cells => {
    const here = `${path}/${at}`;
    if (!child.scalar && !isObject(element)) throw wrong(here, `is ${shown(element)}, not an object`);
    const doc = child.scalar ? { value: element } : (element as Doc);
    const row: Cells = { [POSITION]: String(at), ...cellsOf(child, doc, here, new Set()) };
    const key = row[child.key];
    if (key === null || key === undefined) throw wrong(here, `has no ${child.key}, the key of ${child.name}`);
    if (keys.has(canonical(key))) throw wrong(here, `has the same ${child.key} as another element`);
    keys.add(canonical(key));
    return row;
  });
}

function cell(type: Column['type'], value: unknown, path: string): unknown {
  const not = (what: string): Error => wrong(path, `is ${shown(value)}, not ${what}`);
  switch (type) {
    case 'boolean':
      if (typeof value !== 'boolean') throw not('true or false');
      return value;
    case 'integer':
    case 'bigint':
    case 'numeric':
      if (typeof value !== 'number') throw not('a number');
      assertNumber(value, path);
      if (type !== 'numeric' && !Number.isInteger(value)) throw not('a whole number');
      return decimal(value);
    case 'double precision':
      if (typeof value !== 'number') throw not('a number');
      assertNumber(value, path);
      return value === 0 ? 0 : value;
    case 'timestamptz': {
      if (typeof value !== 'string') throw not('a date with a time');
      const moment = momentOf(value);
      if (typeof moment === 'string') throw wrong(path, `is ${shown(value)}, which ${moment}`);
      return moment.utc;
    }
    case 'date': {
      if (typeof value !== 'string') throw not('a date');
      const why = wrongDay(value);
      if (why !== undefined) throw wrong(path, `is ${shown(value)}, which ${why}`);
      return value;
    }
    case 'text':
      if (typeof value !== 'string') throw not('a text');
      assertText(value, path);
      return value;
    case 'jsonb':
      break;
  }
  assertJson(value, path);
  return plainJson(value);
}

/** All that is in a JSON value. */
function assertJson(value: unknown, path: string): void {
  if (typeof value === 'string') assertText(value, path);
  else if (typeof value === 'number') assertNumber(value, path);
  else if (Array.isArray(value)) for (const [at, element] of value.entries()) assertJson(element, `${path}/${at}`);
  else if (isObject(value))
    for (const [field, member] of Object.entries(value)) {
      assertText(field, path);
      assertJson(member, `${path}/${pointerPart(field)}`);
    }
}

function assertText(value: string, path: string): void {
  if (value.includes('\u0000')) throw wrong(path, 'has the character U+0000, which PostgreSQL doesn’t store');
  if (!value.isWellFormed()) throw wrong(path, 'has half a character (a lone surrogate), which UTF-8 doesn’t hold');
}

function assertNumber(value: number, path: string): void {
  if (!Number.isFinite(value)) throw wrong(path, `is ${value}, which JSON doesn’t hold`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    throw wrong(path, `is ${value}, over 2^53: JSON readers have rounded it`);
}

const wrong = (path: string, why: string): Error => definitionError('table-value', `${path} ${why}`);

/** The shortest decimal text that is this number, without an exponent: what `numeric` gives back. */
export function decimal(value: number): string {
  const [mantissa = '', exponent] = String(value === 0 ? 0 : value).split('e');
  if (exponent === undefined) return mantissa;
  const sign = mantissa.startsWith('-') ? '-' : '';
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const point = whole.length + Number(exponent);
  const digits = whole + fraction;
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return point >= digits.length
    ? `${sign}${digits}${'0'.repeat(point - digits.length)}`
    : `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** Without members that are undefined, and with 0 for -0, as jsonb gives it back. */
const plainJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;
