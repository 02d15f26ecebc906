import { refusalOfId } from '../base/item-id.ts';
import { isMissing } from '../base/key-level.ts';
import { digest } from '../base/json.ts';
import type { Doc } from './specs.ts';
import { sharedError } from '../base/shared-errors.ts';

/** Bytes. Far below the 1,023 that Cosmos DB allows, because the ids of contributions contain it. */
const LONGEST = 255;

/**
 * Id of a group's sink document: `<type>|<value>|<value>…`, the values in the order of their sorted field names, so that
 * the order of properties in user code can't change an id. Different groups of one projection have different ids, as
 * long as `groupBy` returns the same fields for every row.
 *
 * Escaped as `~XX`, one per UTF-8 byte: all but `A-Z a-z 0-9 _ . : @ -` and inner spaces; with that `/ \ #`, which
 * Cosmos DB forbids in ids, can't occur. A number is `~n…`, true and false `~t` and `~f`, null `~z`, so none equals a
 * string. Over 255 bytes: `<type>|~~<digest>`, and `~~<digest>` if the type itself is that long.
 *
 * Throws `value-invalid` for a value that doesn't identify a group: undefined, NaN, an infinite number, an object.
 */
export function aggregateId(type: string, group: Doc): string {
  const fields = Object.keys(group).toSorted();
  const id = [escape(type), ...fields.map((field) => component(field, group[field]))].join('|');
  if (id.length <= LONGEST) return id;
  const short = `~~${digest([type, group])}`;
  const prefixed = `${escape(type)}|${short}`;
  return prefixed.length <= LONGEST ? prefixed : short;
}

function component(field: string, value: unknown): string {
  if (typeof value === 'string') return escape(value);
  if (typeof value === 'number' && Number.isFinite(value)) return `~n${escape(String(value))}`;
  if (typeof value === 'boolean') return value ? '~t' : '~f';
  if (value === null) return '~z';
  throw sharedError(
    'value-invalid',
    `groupBy returned ${typeof value === 'number' ? value : typeof value} in the field ${field}`,
    { hint: 'Return a string, a finite number, a boolean or null in every field of the group.' },
  );
}

/**
 * The id of a source document in a sink outside of Cosmos DB: its key's levels and its id, escaped as above and separated
 * by `|`. A missing level is `~u`. The id is left out if it is the key's last value. Over 255 bytes: `~~<digest>`.
 */
export function entryId(key: readonly unknown[], id: string): string {
  const parts = [...key, ...(key.at(-1) === id ? [] : [id])].map((value, level) =>
    isMissing(value) ? '~u' : component(String(level), value),
  );
  const text = parts.join('|');
  return text.length <= LONGEST ? text : `~~${digest([key, id])}`;
}

/** Well-formed first: a lone surrogate has no UTF-8 bytes and Cosmos DB would store the replacement character. */
const escape = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^A-Za-z0-9_.:@ -]|^ | $/gu, (char) =>
      [...Buffer.from(char)].map((byte) => `~${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    );

/**
 * The id of a stored copy: the one that `map` returned, or its digest if Cosmos DB doesn't accept that.
 * @throws MillraceError `value-invalid` if `bad` is `park`
 */
export function sinkDocumentId(id: string, bad: 'hash' | 'park' = 'hash'): string {
  const why = refusalOfId(id);
  // Nothing is a name for an empty one.
  if (why === undefined || id === '') return id;
  if (bad === 'hash') return `~~${digest(id)}`;
  throw sharedError('value-invalid', `The id ${JSON.stringify(id.slice(0, 60))} ${why}`, {
    hint: "Return another id from `map`, or declare `badIds: 'hash'`.",
  });
}
