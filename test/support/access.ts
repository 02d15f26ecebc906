import type { DocumentAccess } from '../../src/access/document-access.ts';

/** An access to spread into one that does some things otherwise: `{ ...bound(access), commit: … }`. */
export const bound = (access: DocumentAccess): DocumentAccess => ({
  fence: access.fence,
  read: (...of) => access.read(...of),
  commit: (...of) => access.commit(...of),
  query: (...of) => access.query(...of),
});
