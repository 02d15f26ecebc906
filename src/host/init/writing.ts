// What is known of a row of the document while its code is written, and how names become code.
import { isObject } from '../../base/json.ts';
import type { ProjectionRow, Reference } from '../../model/documents.ts';
import { type Model, containerOf, examplesOf } from '../../model/model.ts';

/** What is known of a row while its code is written. */
export interface Writing {
  readonly model: Model;
  readonly row: ProjectionRow;
  readonly rows: readonly ProjectionRow[];
  readonly from: Reference & { readonly type: string };
  readonly into: Reference & { readonly type: string };
  ask(question: string): void;
}

/** A field's examples. */
export interface FieldShape {
  readonly optional: boolean;
  readonly nullable: boolean;
  /** Of the values: JSON types, with the fields of objects. */
  readonly shape: string;
  readonly values: readonly unknown[];
}

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
const RESERVED = new Set([
  'case',
  'class',
  'default',
  'delete',
  'export',
  'function',
  'import',
  'package',
  'return',
  'm',
]);

export const refer = (object: string, name: string): string =>
  IDENTIFIER.test(name) ? `${object}.${name}` : `${object}[${JSON.stringify(name)}]`;
export const property = (name: string): string => (IDENTIFIER.test(name) ? name : JSON.stringify(name));
export const variable = (type: string): string => (IDENTIFIER.test(type) && !RESERVED.has(type) ? type : 'document');
export const typeRef = ({ container, type }: Writing['from']): string => refer(refer('m', container), type);

export function fieldsOf(model: Model, of: Writing['from']): Map<string, FieldShape> {
  const examples = examplesOf(model, of);
  const names = [...new Set(examples.flatMap((example) => Object.keys(example)))];
  return new Map(
    names.map((name) => {
      const values = examples.flatMap((example) => (example[name] === undefined ? [] : [example[name]]));
      const known = values.filter((value) => value !== null);
      return [
        name,
        {
          optional: values.length < examples.length,
          nullable: known.length < values.length,
          shape: [...new Set(known.map(shapeOf))].join(' | '),
          values: known,
        },
      ];
    }),
  );
}

function shapeOf(value: unknown): string {
  if (Array.isArray(value)) return `[${[...new Set(value.map(shapeOf))].join(' | ')}]`;
  if (!isObject(value)) return typeof value;
  const fields = Object.entries(value).map(([name, of]) => `${name}: ${shapeOf(of)}`);
  return `{${fields.toSorted().join(', ')}}`;
}

export const quoted = (text: string): string => `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`;

/** A cell as one line of plain text. */
export const short = (text: string): string =>
  text
    .replaceAll(/<!--.*?-->|`/gs, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

export function onlyType(model: Model, of: Reference | undefined): string | undefined {
  const types = containerOf(model, of?.container)?.types ?? [];
  return types.length === 1 ? types[0]?.name : undefined;
}
