import type { WireCall } from '../wire/wire.ts';
import { WireError } from '../wire/wire.ts';

/** A failure by rule. The server counts the matching requests from 1 when the rules are set. */
export interface FaultRule {
  /** Kinds of request as in `stats()`, such as `read`, `batch` or `change-feed`; absent: all requests on items. */
  readonly operation?: string | readonly string[];
  /** The container's id, or `database/container`; absent: all containers. */
  readonly container?: string;
  /** The number of the first matching request that fails. */
  readonly nth?: number;
  /** How many requests fail at most; default 1 with `nth`, else without limit. */
  readonly times?: number;
  /** 0 to 1, default 1. */
  readonly probability?: number;
  /** The status of the answer; `reset` breaks the connection. */
  readonly status: number | 'reset';
  readonly substatus?: number;
  readonly retryAfterMs?: number;
  /** `after`: the request takes effect, and its answer is replaced. Default `before`: it has no effect. */
  readonly effect?: 'before' | 'after';
}

const count = new WeakMap<FaultRule, { matched: number; struck: number }>();

/** Forgets how often the rules have matched, so that the same objects can be set again. */
export function restart(rules: readonly FaultRule[]): void {
  for (const rule of rules) count.set(rule, { matched: 0, struck: 0 });
}

/** The first rule that makes this request fail. Every matching rule counts the request. */
export function strike(
  rules: readonly FaultRule[],
  call: WireCall,
  kind: string,
  random: () => number,
): FaultRule | undefined {
  let first: FaultRule | undefined;
  for (const rule of rules) if (concerns(rule, call, kind) && strikes(rule, first, random)) first = rule;
  return first;
}

function strikes(rule: FaultRule, earlier: FaultRule | undefined, random: () => number): boolean {
  const seen = count.get(rule) ?? { matched: 0, struck: 0 };
  count.set(rule, seen);
  seen.matched++;
  const { nth = 1, times = rule.nth === undefined ? Infinity : 1, probability = 1 } = rule;
  if (earlier || seen.matched < nth || seen.struck >= times) return false;
  if (probability < 1 && random() >= probability) return false;
  seen.struck++;
  return true;
}

function concerns({ operation, container }: FaultRule, { segments }: WireCall, kind: string): boolean {
  if (container !== undefined && !named(container, segments)) return false;
  if (operation === undefined) return segments[4] === 'docs';
  return typeof operation === 'string' ? operation === kind : operation.includes(kind);
}

/** An id alone names the container of that id in every database; an id has no `/`. */
const named = (container: string, [, database, , id]: readonly string[]): boolean =>
  container.includes('/') ? container === `${database}/${id}` : container === id;

export function faultRefusalOf({ status, substatus = 0, retryAfterMs }: FaultRule): WireError {
  const error = new WireError(Number(status), `Failed by rule with ${status}.`, substatus);
  if (retryAfterMs !== undefined) error.headers['x-ms-retry-after-ms'] = String(retryAfterMs);
  return error;
}
