import { MillraceError } from '../../base/errors.ts';
import type { SinkSession, Write } from '../../sinks/session.ts';
import { assertStorable } from '../sink-type.ts';

/** A session that refuses what JSON would turn into something else, as the sink refuses what it can't take. */
export const storableSession = (session: SinkSession): SinkSession => ({
  fence: session.fence,
  read: (...of) => session.read(...of),
  query: (...of) => session.query(...of),
  commit: async (container, key, writes) => {
    for (const [index, write] of writes.entries()) {
      const why = unstorable(write);
      if (why !== undefined) return { kind: 'refused', index, why };
    }
    return session.commit(container, key, writes);
  },
});

function unstorable(write: Write): string | undefined {
  try {
    if (write.op === 'create' || write.op === 'replace') assertStorable(write.body, write.id);
    else if (write.op === 'patch')
      for (const operation of write.operations)
        if ('value' in operation) assertStorable(operation.value, write.id, operation.path);
    return undefined;
  } catch (error) {
    if (error instanceof MillraceError) return error.message;
    throw error;
  }
}
