import type { Position } from '../../sql/walk.ts';
import { badRequest, header } from '../wire/wire.ts';
import type { WireCall, WireError } from '../wire/wire.ts';

/** Keeps a token below the client's limit (`x-ms-documentdb-responsecontinuationtokenlimitinkb`), with its other fields. */
const LONGEST_VALUES = 800;

/** Where a query continues, and the name of the results that the server may have kept for it. */
interface Continuation extends Position {
  readonly cursor: string | undefined;
}

/** A position as a token for the client: ASCII, and valid as long as the container exists. */
export function continuation(
  rid: string,
  { values = [], seq, same, delivered }: Position,
  cursor: string | undefined,
): string {
  // Each value is in a list, because JSON has no undefined.
  const listed = values.map((value) => (value === undefined ? [] : [value]));
  const short = JSON.stringify(listed).length <= LONGEST_VALUES;
  const token = { r: rid, s: seq, k: same, n: delivered, ...(short ? { v: listed } : {}), c: cursor };
  return JSON.stringify(token).replace(/[\u007f-\uffff]/g, escaped);
}

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** @throws WireError 400 if `continuation` didn't make the token for this container and this number of ORDER BY values */
export function readContinuation(call: WireCall, rid: string, values: number): Continuation | undefined {
  const text = header(call.headers, 'x-ms-continuation');
  if (text === undefined || text === '') return undefined;
  const { r, s, k, n, v, c } = parsed(text);
  const listed = v === undefined ? undefined : lists(v);
  const whole = [s, k, n].every((number) => Number.isSafeInteger(number));
  if (
    r !== rid ||
    !whole ||
    (v !== undefined && listed?.length !== values) ||
    (c !== undefined && typeof c !== 'string')
  ) {
    throw foreignToken();
  }
  return {
    seq: s as number,
    same: k as number,
    delivered: n as number,
    values: listed?.map(([value]) => value),
    cursor: c,
  };
}

export const foreignToken = (): WireError =>
  badRequest('Invalid Continuation Token: it was not made by this server for this query of this container.');

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // The caller refuses it, like any other invalid token.
  }
  return {};
}

function lists(value: unknown): unknown[][] | undefined {
  return Array.isArray(value) && value.every((each) => Array.isArray(each)) ? (value as unknown[][]) : undefined;
}
