import type { Doc, Effect, Finding, ReactSpec, SourceRef } from '../specs.ts';
import {
  type Declaration,
  deleteFindings,
  error,
  lagFindings,
  milliseconds,
  nameFindings,
  plain,
} from '../declaration.ts';
import type { Type } from '../types.ts';

/** What `react` takes; S the documents it reacts to. */
export interface ReactOptions<S extends object> {
  readonly from: Type<S>;
  /** A whole number from 1 on; default 1. It is part of the idempotency key. */
  readonly version?: number;
  readonly maxLag?: string;
  readonly when?: (doc: S) => boolean;
  /** What is run one after another: the changes of one document (default), or of one partition key. */
  readonly order?: 'document' | 'partitionKey';
  /** How often a change is tried before it is parked as a dead letter; default 5, with growing pauses. */
  readonly attempts?: number;
  /** How long an attempt may last, as `5 s`; default 30 s, at most 60 s. */
  readonly timeout?: string;
  /** A document's delete marker: `remove` (default) sets off nothing, `keep` runs for the marked document too. */
  readonly onDelete?: 'remove' | 'keep';
  /** Run for documents that came back from the archive as they were; default false. */
  readonly restored?: boolean;
  /** Run where nothing changed but what this pipeline's embeds write; default false. */
  readonly echoes?: boolean;
  /** Runs at least once a change that the feed shows: the receiver must know `effect.key` again. */
  readonly run: (doc: S, effect: Effect) => Promise<void>;
}

/** The same as the implementation sees it. */
interface Untyped extends Omit<ReactOptions<Doc>, 'from'> {
  readonly from: SourceRef;
}

const MOST_MS = 60_000;
const MOST_ATTEMPTS = 20;

/** A call, a notification, a cache update: whatever is to happen once a document has changed. */
export function react<S extends object>(name: string, spec: ReactOptions<S>): Declaration<ReactSpec>;
export function react(name: string, spec: Untyped): Declaration<ReactSpec> {
  const { from, version = 1, order = 'document', attempts = 5, timeout = '30 s', onDelete = 'remove' } = spec;
  const { maxLag, when, restored = false, echoes = false, run } = spec;
  const findings: Finding[] = [...nameFindings(name, version), ...lagFindings(name, maxLag)];
  const timeoutMs = milliseconds(timeout) ?? Number.NaN;
  if (!(timeoutMs > 0 && timeoutMs <= MOST_MS))
    findings.push(
      error('react-timeout', `Reaction ${name} has timeout ${JSON.stringify(timeout)}`, 'Write 5 s, 60 s at most.'),
    );
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > MOST_ATTEMPTS)
    findings.push(error('react-attempts', `Reaction ${name} has attempts ${attempts}`, `Write 1 to ${MOST_ATTEMPTS}.`));
  if (order !== 'document' && order !== 'partitionKey')
    findings.push(
      error('react-order', `Reaction ${name} has order ${String(order)}`, 'Write document or partitionKey.'),
    );
  findings.push(...deleteFindings(name, onDelete, 'Reaction'));
  if (typeof run !== 'function')
    findings.push(error('react-run', `Reaction ${name} has nothing to run`, 'Give it run: async (doc, effect) => ….'));
  return {
    kind: 'react',
    name,
    version,
    from: plain(from),
    order,
    attempts,
    timeoutMs,
    onDelete,
    restored,
    echoes,
    ...(maxLag !== undefined && { maxLag }),
    ...(when && { when }),
    run,
    findings,
  };
}
