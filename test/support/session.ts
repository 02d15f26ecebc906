import type { SinkSession } from '../../src/sinks/session.ts';

/** A session to spread into one that does some things otherwise: `{ ...bound(session), commit: … }`. */
export const bound = (session: SinkSession): SinkSession => ({
  fence: session.fence,
  read: (...of) => session.read(...of),
  commit: (...of) => session.commit(...of),
  query: (...of) => session.query(...of),
});
