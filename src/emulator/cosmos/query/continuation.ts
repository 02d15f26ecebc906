import type { Position } from '../../sql/walk.ts';
import { badRequest, header } from '../wire/wire.ts';
import type { Call } from '../wire/wire.ts';

/** What the client wants a token to be below (`x-ms-documentdb-responsecontinuationtokenlimitinkb`), names and all. */
const LONGEST_VALUES = 800;

/** Where a query goes on, and what the server may have kept for it. */
interface Continuation extends Position {
  readonly cursor: string | undefined;
}

/** A position as the client carries it: ASCII, and good for as long as the container lives. */
export function continuation(
  rid: string,
  { values = [], seq, same, delivered }: Position,
  cursor: string | undefined,
): string {
  // In lists of their own, as JSON has no undefined.
  const told = values.map((value) => (value === undefined ? [] : [value]));
  const short = JSON.stringify(told).length <= LONGEST_VALUES;
  const token = { r: rid, s: seq, k: same, n: delivered, ...(short ? { v: told } : {}), c: cursor };
  return JSON.stringify(token).replace(/[\u007f-\uffff]/g, escaped);
}

const escaped = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** @throws WireError 400 for what `continuation` didn't make, for this container and as many values to order by */
export function readContinuation(call: Call, rid: string, values: number): Continuation | undefined {
  const text = header(call.headers, 'x-ms-continuation');
  if (text === undefined || text === '') return undefined;
  const { r, s, k, n, v, c } = parsed(text);
  const told = v === undefined ? undefined : lists(v);
  const whole = [s, k, n].every((number) => Number.isSafeInteger(number));
  if (
    r !== rid ||
    !whole ||
    (v !== undefined && told?.length !== values) ||
    (c !== undefined && typeof c !== 'string')
  ) {
    throw badRequest('Invalid Continuation Token: it was not made by this server for this query of this container.');
  }
  return {
    seq: s as number,
    same: k as number,
    delivered: n as number,
    values: told?.map(([value]) => value),
    cursor: c,
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch {
    // Refused as any other text that isn't of this form.
  }
  return {};
}

function lists(value: unknown): unknown[][] | undefined {
  return Array.isArray(value) && value.every((each) => Array.isArray(each)) ? (value as unknown[][]) : undefined;
}
