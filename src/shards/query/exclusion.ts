// The condition that leaves strays out of a shard's answer, on keys in the form that documents have.
import type { SqlParameter } from '@azure/cosmos';
import { keyJson } from '../keys/key-type.ts';
import type { MapFacts } from '../map/documents.ts';
import type { KeySpan } from '../keys/spans.ts';

export interface Exclusion {
  readonly conditions: readonly string[];
  readonly parameters: readonly SqlParameter[];
}

const STRAYS = '@millraceStrays';

/**
 * True for every document whose key is no stray, also if it has no key, or one of another JSON type. So each comparison
 * is guarded by the type: without a guard it would be undefined there, and its negation too. A text that isn't a key of
 * the map's type may be left out.
 * @param key the property in the query, such as `c["tenantId"]`
 */
export function exclusionOf({ kind, keyType }: MapFacts, strays: readonly KeySpan[], key: string): Exclusion {
  if (strays.length === 0) return { conditions: [], parameters: [] };
  const guard = `${keyType === 'int32' ? 'IS_NUMBER' : 'IS_STRING'}(${key})`;
  if (kind === 'list') {
    const value = strays.map(({ low }) => keyJson(keyType, low));
    return {
      conditions: [`NOT (${guard} AND ARRAY_CONTAINS(${STRAYS}, ${key}))`],
      parameters: [{ name: STRAYS, value }],
    };
  }
  const below = (code: string): string => comparison(keyType, key, code);
  const spans = strays.map(({ low, high }) =>
    [...(low === '' ? [] : [`NOT ${below(low)}`]), ...(high === undefined ? [] : [below(high)])].join(' AND '),
  );
  return {
    conditions: spans.map((span) => `NOT (${guard}${span === '' ? '' : ` AND ${span}`})`),
    parameters: [],
  };
}

/** Whether a key is below another one. The forms of all types but two sort as their keys do. */
function comparison(keyType: MapFacts['keyType'], key: string, code: string): string {
  const form = JSON.stringify(keyJson(keyType, code));
  return keyType === 'int64' || keyType === 'duration' ? belowSigned(key, form) : `(${key} < ${form})`;
}

/**
 * Numbers with a sign as text: of two that are not negative the shorter one is smaller, of two of one length the first
 * in the order of texts. For negative ones it is the other way round. A minus sorts before every digit.
 */
function belowSigned(key: string, form: string): string {
  const length = form.length - '""'.length;
  const isNegative = form.startsWith('"-');
  const [longer, after] = isNegative ? ['>', '>'] : ['<', '<'];
  const sameSign = `(LENGTH(${key}) ${longer} ${length} OR (LENGTH(${key}) = ${length} AND ${key} ${after} ${form}))`;
  return isNegative ? `(${key} < "0" AND ${sameSign})` : `(${key} < "0" OR ${sameSign})`;
}
