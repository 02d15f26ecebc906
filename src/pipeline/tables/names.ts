// Names of tables and columns in PostgreSQL. They are written without quotes, so that every query reads them as they are.

/** PostgreSQL cuts longer names off without an error (NAMEDATALEN is 64). */
const MOST_BYTES = 63;
/** The longest ending that Millrace gives a table's name: a version, a content and the word for its guards. */
const LONGEST_ENDING = '_v9999_0123456789_guards';

/** `storeId` → `store_id`, `HTTPStatus` → `http_status`. */
export const snake = (field: string): string =>
  field
    .replaceAll(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
    .replaceAll(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')
    .replaceAll(/^_+|_+$/g, '')
    .toLowerCase();

/** Why a name can't be one of PostgreSQL; undefined: it can. */
export function unfit(name: string, what: 'table' | 'column'): string | undefined {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) return 'is not made of a-z, 0-9 and _, beginning with a letter';
  if (RESERVED.has(name)) return 'is a reserved word of PostgreSQL';
  if (what === 'column' && SYSTEM.has(name)) return 'is the name of a system column of PostgreSQL';
  const most = MOST_BYTES - (what === 'table' ? LONGEST_ENDING.length : 0);
  return name.length > most ? `has ${name.length} bytes; ${most} are the most` : undefined;
}

const SYSTEM = new Set(['tableoid', 'xmin', 'cmin', 'xmax', 'cmax', 'ctid']);

/**
 * Words that PostgreSQL 18 reserves, also those that may be functions or types (its `kwlist.h`): the same name must do as a
 * table, a column and a label.
 */
const RESERVED = new Set(
  `all analyse analyze and any array as asc asymmetric authorization binary both case cast check collate collation column
  concurrently constraint create cross current_catalog current_date current_role current_schema current_time
  current_timestamp current_user default deferrable desc distinct do else end except false fetch for foreign freeze from
  full grant group having ilike in initially inner intersect into is isnull join lateral leading left like limit localtime
  localtimestamp natural not notnull null offset on only or order outer overlaps placing primary references returning right
  select session_user similar some symmetric system_user table tablesample then to trailing true union unique user using
  variadic verbose when where window with`.split(/\s+/),
);
