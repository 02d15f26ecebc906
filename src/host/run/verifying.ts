import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../../base/errors.ts';
import { operationPlaces } from '../../verbs/at-places.ts';
import type { Context } from '../../procedures/context.ts';
import { sayDue, verifyDue } from '../../procedures/verify/verify-due.ts';
import type { Workspace } from '../../runtime/workspace.ts';

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
  const failed = (at: string, error: unknown): void => {
    if (!signal.aborted) screen.line(`${at}The verification by the schedule failed: ${messageOf(error)}`);
  };
  const quiet = { ...screen, progress: () => undefined };
  // A shard that doesn't answer doesn't keep the other places from their turn.
  const lookAt = async (workspace: Workspace, at: string): Promise<void> => {
    try {
      for (const done of await verifyDue({ ...context, workspace, actor: 'schedule', signal, screen: quiet }))
        screen.line(`${at}${sayDue(done)}`);
    } catch (error) {
      failed(at, error);
    }
  };
  const looking = (async () => {
    while (!signal.aborted) {
      await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        const places = await operationPlaces(context.workspace, 'projections verify', 'every', undefined);
        if (!places) await lookAt(context.workspace, '');
        for (const { name, workspace } of places ?? []) await lookAt(workspace, `${name}: `);
      } catch (error) {
        failed('', error);
      }
    }
  })();
  return () => {
    ended.abort();
    return looking;
  };
}
