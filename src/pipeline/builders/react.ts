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
import { type StartOption, startFields } from '../start.ts';
import type { Type } from '../types.ts';

/** What `react` takes; S the documents it reacts to. */
export interface ReactOptions<S extends object> {
  /** The documents whose changes it reacts to. */
  readonly from: Type<S>;
  /** A whole number from 1 on; default 1. It is part of the idempotency key. */
  readonly version?: number;
  /** How far behind it may be, as `5 s`, `2 min`, `1 h`, `1 d`. */
  readonly maxLag?: string;
  /** Only documents for which it returns true, as they are now. */
  readonly when?: (doc: S) => boolean;
  /** Changes of one document (default), or of one partition key, run one after another. */
  readonly order?: 'document' | 'partitionKey';
  /**
   * Where it begins: `beginning`, `now` (default), or a time such as `2026-06-03T12:00:00Z`. `now` is when the first host
   * that declares it starts. Recorded once for a version; documents that change afterwards count, whatever their age.
   */
  readonly start?: StartOption;
  /** Attempts at a change before Millrace parks it; default 5, with growing pauses. */
  readonly attempts?: number;
  /** How long an attempt may last, as `5 s`; default 30 s, at most 60 s. */
  readonly timeout?: string;
  /** `remove` (default): a document with its delete marker is skipped. `keep`: `run` gets it too. */
  readonly onDelete?: 'remove' | 'keep';
  /** Also run for documents that were restored from the archive unchanged; default false. */
  readonly restored?: boolean;
  /** Also run if only fields changed that this pipeline's embeds write; default false. */
  readonly echoes?: boolean;
  /**
   * For `once(effect, run)` in `run`: what becomes of an effect that began and may not have ended, because its host died.
   * `again`: it is run again under its key. `park`: its change is parked, for a person to decide.
   */
  readonly unfinished?: 'again' | 'park';
  /** Runs at least once for each change that the feed shows: the receiver must recognise a repeated `effect.key`. */
  readonly run: (doc: S, effect: Effect) => Promise<void>;
}

/** The same without the user's types. */
interface Untyped extends Omit<ReactOptions<Doc>, 'from'> {
  readonly from: SourceRef;
}

const MOST_MS = 60_000;
const MOST_ATTEMPTS = 20;

/** Runs user code when a document has changed: a call, a notification, a cache update. */
export function react<S extends object>(name: string, spec: ReactOptions<S>): Declaration<ReactSpec>;
export function react(name: string, spec: Untyped): Declaration<ReactSpec> {
  const { from, version = 1, order = 'document', attempts = 5, timeout = '30 s', onDelete = 'remove' } = spec;
  const { maxLag, when, restored = false, echoes = false, unfinished, run } = spec;
  const findings: Finding[] = [...nameFindings(name, version), ...lagFindings(name, maxLag)];
  const timeoutMs = milliseconds(timeout) ?? Number.NaN;
  if (!(timeoutMs > 0 && timeoutMs <= MOST_MS))
    findings.push(
      error(
        'react-timeout',
        `Reaction ${name} has timeout ${JSON.stringify(timeout)}, which isn't valid`,
        'Write a span such as 5 s, 60 s at most.',
      ),
    );
  if (!Number.isInteger(attempts) || attempts < 1 || attempts > MOST_ATTEMPTS)
    findings.push(
      error(
        'react-attempts',
        `Reaction ${name} has attempts ${attempts}, which isn't valid`,
        `Write 1 to ${MOST_ATTEMPTS}.`,
      ),
    );
  if (order !== 'document' && order !== 'partitionKey')
    findings.push(
      error(
        'react-order',
        `Reaction ${name} has order ${String(order)}, which isn't valid`,
        'Write document or partitionKey.',
      ),
    );
  if (unfinished !== undefined && unfinished !== 'again' && unfinished !== 'park')
    findings.push(
      error(
        'react-unfinished',
        `Reaction ${name} has unfinished ${String(unfinished)}, which isn't valid`,
        'Write again or park.',
      ),
    );
  findings.push(...deleteFindings(name, onDelete, 'Reaction'));
  const { findings: wrong, ...started } = startFields(name, spec.start);
  findings.push(...wrong);
  if (typeof run !== 'function')
    findings.push(error('react-run', `Reaction ${name} has no run`, 'Add run: async (doc, effect) => ….'));
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
    ...(unfinished !== undefined && { unfinished }),
    ...(maxLag !== undefined && { maxLag }),
    ...started,
    ...(when && { when }),
    run,
    findings,
  };
}
