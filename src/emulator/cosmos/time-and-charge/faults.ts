import { faultRefusalOf, strike } from './rules.ts';
import type { FaultRule } from './rules.ts';
import { WireError } from '../wire/wire.ts';
import type { WireCall, Reply } from '../wire/wire.ts';

/** The faults that a server simulates. Probabilities are 0 to 1 for each request on items. */
export interface Faults {
  /** Reads and queries may return state of up to this age, unless their session token requires newer state. */
  readonly replicaLagMs?: number;
  /** A write takes effect and its answer is lost: 408, 503 or a connection reset. */
  readonly failAfterEffect?: number;
  /** A request fails without effect: 408, 449, 503 or a connection reset. */
  readonly failBefore?: number;
  /** 429 with a retry-after, without effect. */
  readonly throttle?: number;
  /** Failures by rule; the server checks them before the probabilities above. */
  readonly rules?: readonly FaultRule[];
  /** The least time of each request on items. Half of it passes before the effect. */
  readonly latencyMs?: number;
  /** The most time that is added to `latencyMs`, at random. */
  readonly jitterMs?: number;
  /** Whether each physical partition answers 429 beyond its share of the provisioned RU/s. */
  readonly enforceThroughput?: boolean;
  /** Whether requests of priority level Low are throttled before others. */
  readonly priorityLevels?: boolean;
  /** The most that the requests of each throughput bucket (1 to 5) take of every container's RU/s, percent. */
  readonly throughputBuckets?: Readonly<Record<string, number>>;
  /** Whether the server deletes expired items (default true); `purge()` does it on command. */
  readonly purge?: boolean;
  /** COUNT includes expired items that aren't purged yet. */
  readonly countExpired?: boolean;
  /** A query by a prefix of a hierarchical key finds whatever the physical partitions of the prefix have (ASM-E72). */
  readonly loosePrefixes?: boolean;
  /** A query over several physical partitions gets 400 where only a client with a plan can answer it (ASM-E74). */
  readonly demandPlans?: boolean;
  /**
   * From how many documents of a container, or of the one logical partition that it names, a query uses an index (default
   * 1,000). Of a smaller one it loads, and charges, all documents. The service always uses its index (0).
   */
  readonly indexFrom?: number;
  /** How long the server keeps past states, for failovers and restores. */
  readonly historyMs?: number;
  /** Entries of one lsn come in a random order (default true), because the service promises no order. */
  readonly shuffleInLsn?: boolean;
}

/** What happens to one request, decided at random before it is handled: a reset without effect, or another answer after it. */
export type Fate = 'normal' | 'reset-before' | 'reset-after' | { readonly answer: Reply };

/** Without a rule only requests on items fail: a client that can't even reach the account tests nothing. */
export function fateOf(faults: Faults, random: () => number, call: WireCall, kind: string): Fate {
  const { throttle = 0, failBefore = 0, failAfterEffect = 0, rules = [] } = faults;
  const rule = rules.length > 0 ? strike(rules, call, kind, random) : undefined;
  if (rule) {
    if (rule.status === 'reset') return rule.effect === 'after' ? 'reset-after' : 'reset-before';
    if (rule.effect === 'after') return { answer: faultRefusalOf(rule).reply() };
    throw faultRefusalOf(rule);
  }
  if (call.segments[4] !== 'docs' || throttle + failBefore + failAfterEffect === 0) return 'normal';
  if (random() < throttle) throw tooManyRequests(1 + Math.floor(random() * 20));
  if (random() < failBefore) {
    switch (Math.floor(random() * 4)) {
      case 0:
        throw new WireError(408, 'The request timed out before it was carried out.');
      case 1:
        throw new WireError(503, 'The service is currently unavailable. The request had no effect.');
      case 2:
        throw new WireError(449, 'Conflicting request to the resource has been attempted. Retry to avoid conflicts.');
      default:
        return 'reset-before';
    }
  }
  if (!isWrite(call) || random() >= failAfterEffect) return 'normal';
  const way = Math.floor(random() * 3);
  return way === 2 ? 'reset-after' : { answer: lostAnswer(way === 0 ? 408 : 503) };
}

export function tooManyRequests(retryAfterMs: number, substatus = 3200): WireError {
  const error = new WireError(
    429,
    'Request rate is large. More Request Units may be needed, so no changes were made.',
    substatus,
  );
  error.headers['x-ms-retry-after-ms'] = String(retryAfterMs);
  return error;
}

/** The write took effect; only its answer is lost. */
const lostAnswer = (status: number): Reply =>
  new WireError(status, 'The answer was lost: the request may have been carried out.').reply();

function isWrite(call: WireCall): boolean {
  return call.method !== 'GET' && call.headers['x-ms-documentdb-isquery'] === undefined;
}
