import type { StagedHost } from '../../runtime/staged-host.ts';

export interface FillOptions {
  /** Applies the archived documents too. */
  readonly cold: boolean;
  readonly signal: AbortSignal;
  readonly progress?: ((changes: number) => void) | undefined;
}

/** Applies the feeds to their end, then the archive, then what the feeds got meanwhile. */
export async function fill(staged: StagedHost, { cold, signal, progress }: FillOptions): Promise<void> {
  const report = (): void => progress?.(staged.progress().changes);
  const reporting = setInterval(report, 250);
  try {
    await staged.drained(signal);
    if (cold) await staged.applyCold(signal);
    await staged.drained(signal);
  } finally {
    clearInterval(reporting);
  }
  report();
}
