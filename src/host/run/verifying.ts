import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../base/errors.ts';
import { operationPlaces } from '../../operations/at-places.ts';
import type { Context } from '../../operations/operation.ts';
import { sayDue } from '../../operations/projections/verify-due.operation.ts';
import { verifyDue } from '../../operations/projections/verify-due.ts';

/** How often a host looks whether a verification is due. A look reads three documents. */
const EVERY_MS = 60_000;

/**
 * Does verifications by the schedule beside the live work, and says what they found. A failure is said too, and the next
 * look tries again. The returned function ends it.
 */
export function startVerifying(context: Context, everyMs = EVERY_MS): () => Promise<void> {
  const { screen } = context;
  const ended = new AbortController();
  const signal = AbortSignal.any([context.signal, ended.signal]);
  const looking = (async () => {
    while (!signal.aborted) {
      await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const quiet = { ...screen, progress: () => undefined };
        const places = await operationPlaces(context.workspace, 'projections verify-due', 'every', undefined);
        for (const { name, workspace } of places ?? [{ name: undefined, workspace: context.workspace }])
          for (const done of await verifyDue({ ...context, workspace, actor: 'schedule', signal, screen: quiet }))
            screen.line(name === undefined ? sayDue(done) : `${name}: ${sayDue(done)}`);
      } catch (error) {
        if (!signal.aborted) screen.line(`The verification by the schedule failed: ${messageOf(error)}`);
      }
    }
  })();
  return () => {
    ended.abort();
    return looking;
  };
}
