import { MillraceError, messageOf } from '../../base/errors.ts';
import { projectionId } from '../../pipeline/specs.ts';
import type { StagedHosts } from '../../runtime/hosts/staged-hosts.ts';

export interface FillOptions {
  /** Applies the archived documents too. */
  readonly cold: boolean;
  readonly signal: AbortSignal;
  readonly progress?: ((changes: number) => void) | undefined;
  /** Why a page was not taken: it is tried again, until it is. */
  readonly refused?: ((why: string) => void) | undefined;
}

export const sayRefused = (spec: { readonly name: string; readonly version: number }, why: string): string =>
  `${projectionId(spec)}: a page is tried again: ${why}`;

/**
 * Applies the feeds to their end, the documents of those that have no beginning, the archive, and what the feeds got
 * meanwhile. A shard that is added meanwhile is filled too.
 */
export async function fill(staged: StagedHosts, { cold, signal, progress, refused }: FillOptions): Promise<void> {
  let said: string | undefined;
  const report = (): void => {
    progress?.(staged.progress().changes);
    const error = staged.rejection();
    if (error === undefined || messageOf(error) === said) return;
    said = messageOf(error);
    refused?.(said);
  };
  const reporting = setInterval(report, 250);
  try {
    do {
      await staged.drained(signal);
      await staged.fill(signal);
      // Where a version is built, nothing more is archived since its beginning, so the archive is complete now.
      if (cold) await staged.applyCold(signal);
      await staged.drained(signal);
    } while (!(await staged.follow()));
  } finally {
    clearInterval(reporting);
  }
  report();
}

/** What a version has missed of an all-versions feed can't be known. */
export const isUnfollowed = (error: unknown): error is MillraceError =>
  error instanceof MillraceError && (error.code === 'retention-passed' || error.code === 'position-lost');

/**
 * Builds something, or continues to. Where the feed was not followed, `undo` takes back what was built, and it begins
 * again. `undo` leaves it staged until it is done, so that the next run continues either (REB-V13).
 */
export async function followed<T extends object>(
  build: () => Promise<T>,
  undo: () => Promise<unknown>,
): Promise<T & { readonly startedOver?: string }> {
  try {
    return await build();
  } catch (error) {
    if (!isUnfollowed(error)) throw error;
    await undo();
    return { ...(await build()), startedOver: error.message };
  }
}
