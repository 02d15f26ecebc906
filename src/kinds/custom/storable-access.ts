import { MillraceError } from '../../base/errors.ts';
import type { DocumentAccess, Write } from '../../access/document-access.ts';
import { assertStorable } from '../sink-type.ts';

/** An access that refuses a value that JSON would change, in the same way as the sink refuses a document. */
export const storableAccess = (access: DocumentAccess): DocumentAccess => ({
  fence: access.fence,
  read: (...of) => access.read(...of),
  query: (...of) => access.query(...of),
  commit: async (container, key, writes) => {
    for (const [index, write] of writes.entries()) {
      const why = unstorable(write);
      if (why !== undefined) return { kind: 'refused', index, why };
    }
    return access.commit(container, key, writes);
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
