import { randomUUID } from 'node:crypto';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import type { Context } from '../operation.ts';

/** Who did what by hand, when, and what came of it; a document of the state container. */
export interface AuditRecord {
  readonly id: string;
  readonly pk: 'audit';
  readonly type: 'millrace.audit';
  readonly actor: string;
  /** ISO 8601 UTC. */
  readonly at: string;
  /** As on the command line. */
  readonly verb: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** `begun` for good: the process died on the way. */
  readonly outcome: 'begun' | 'done' | 'failed';
  readonly endedAt?: string;
  /** What it came to: a summary of the result, or the error's code and message. */
  readonly result?: unknown;
}

/**
 * Does a piece of work with a record of it that outlives the process: written before it begins, completed after it ends.
 * @throws UsageError `container-missing` where there is no state container; and whatever the work throws
 */
export async function audited<T>(
  { workspace, actor }: Pick<Context, 'workspace' | 'actor'>,
  verb: string,
  given: Readonly<Record<string, unknown>>,
  work: () => Promise<T>,
): Promise<T> {
  const { state } = await workspace.services();
  const at = new Date().toISOString();
  const record: AuditRecord = {
    id: `${at}-${randomUUID().slice(0, 8)}`,
    pk: 'audit',
    type: 'millrace.audit',
    actor,
    at,
    verb,
    arguments: given,
    outcome: 'begun',
  };
  const write = async (document: AuditRecord): Promise<void> => {
    // The same document again is the same document.
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
    // What went wrong is told even where it can't be written down.
    await write({ ...failed, result: { code, message: messageOf(error) } }).catch(() => undefined);
    throw error;
  }
}
