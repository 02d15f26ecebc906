import { digest } from '../base/json.ts';
import { MillraceError } from '../base/errors.ts';
import type { Doc } from './specs.ts';

/** Bytes; far under the 1,023 that Cosmos DB allows, since contributions put it into their own ids. */
const LONGEST = 255;

/**
 * Id of a group's sink document: `<type>|<value>|<value>…`, the values in the order of their sorted field names, so that
 * the order of properties in user code can't change an id. Different groups of one projection have different ids, as
 * long as `groupBy` returns the same fields for every row.
 *
 * Escaped as `~XX`, one per UTF-8 byte: all but `A-Z a-z 0-9 _ . : @ -` and inner spaces; with that `/ \ # ?`, which
 * Cosmos DB forbids in ids, can't occur. A number is `~n…`, true and false `~t` and `~f`, null `~z`, so none equals a
 * string. Over 255 bytes: `<type>|~~<digest>`, and `~~<digest>` if the type itself is that long.
 *
 * Throws `group-value` for a value that can't tell groups apart: undefined, NaN, an infinite number, an object.
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
  throw new MillraceError(
    'group-value',
    `groupBy returned ${typeof value === 'number' ? value : typeof value} in the field ${field}`,
    {
      mend: 'Return a string, finite number, boolean or null in every field of the group.',
    },
  );
}

/**
 * How a source document is told in a sink outside of Cosmos DB: its key's values and its id, escaped as above and parted
 * by `|`, the id left out where it is the key's last value; over 255 bytes `~~<digest>`.
 */
export function entryId(key: readonly unknown[], id: string): string {
  const parts = [...key, ...(key.at(-1) === id ? [] : [id])].map((value, level) => component(String(level), value));
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

/** Cosmos DB's own limits for ids: 1,023 bytes, none of `/ \ # ?` (Microsoft: "Azure Cosmos DB service quotas"). */
const FORBIDDEN = /[/\\#?]/;
const MOST_BYTES = 1_023;

/**
 * The id a copy is stored under: what `map` returned, or its digest where Cosmos DB wouldn't take that.
 * @throws MillraceError `sink-id-unfit` where such ids are to be parked
 */
export function sinkDocumentId(id: string, bad: 'hash' | 'park' = 'hash'): string {
  const bytes = Buffer.byteLength(id);
  if (!FORBIDDEN.test(id) && bytes <= MOST_BYTES) return id;
  if (bad === 'hash') return `~~${digest(id)}`;
  const why = bytes > MOST_BYTES ? `has ${bytes} bytes, ${MOST_BYTES} at most` : 'has one of / \\ # ?';
  throw new MillraceError('sink-id-unfit', `The id ${JSON.stringify(id.slice(0, 60))} ${why}`, {
    mend: "Return another id from map, or declare badIds: 'hash'.",
  });
}
