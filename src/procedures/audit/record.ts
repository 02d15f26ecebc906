import { randomUUID } from 'node:crypto';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Context } from '../context.ts';

/** Who ran which verb by hand, when, and with which result; a document of the state container. */
export interface AuditRecord {
  readonly id: string;
  readonly pk: 'audit';
  readonly type: 'millrace.audit';
  readonly actor: string;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** `noun verb`, as on the command line. */
  readonly verb: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** A record that stays `begun`: the process died before the end. */
  readonly outcome: 'begun' | 'done' | 'failed';
  readonly endedAt?: string;
  /** A summary of the result, or the error's code and message. */
  readonly result?: unknown;
}

/**
 * Runs a piece of work and records it. The record is written before the work begins, so it survives a crash, and is
 * completed afterwards.
 * @throws UsageError `container-missing` if there is no state container; and every error of the work
 */
export async function audited<T>(
  { workspace, actor }: Pick<Context, 'workspace' | 'actor'>,
  verb: string,
  given: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> {
  const { state } = (await workspace.services()).global;
  const at = new Date().toISOString();
  const record: AuditRecord = {
    id: `${at}-${randomUUID().slice(0, 8)}`,
    pk: 'audit',
    type: 'millrace.audit',
    ...formatOf('audit'),
    actor,
    at,
    verb,
    arguments: given,
    outcome: 'begun',
  };
  const write = async (document: AuditRecord): Promise<void> => {
    // A repeated upsert writes the same document, so it may be retried.
    await withRetry(() => state.items.upsert(document), { reads: true }).catch(throwMissing(state));
  };
  await write(record);
  try {
    const result = await work();
    await write({ ...record, outcome: 'done', endedAt: new Date().toISOString(), result });
    return result;
  } catch (error) {
    const code = error instanceof MillraceError ? error.code : 'unexpected';
    const failed = { ...record, outcome: 'failed' as const, endedAt: new Date().toISOString() };
    // The caller gets the error even if it can't be recorded.
    await write({ ...failed, result: { code, message: messageOf(error) } }).catch(() => undefined);
    throw error;
  }
}
