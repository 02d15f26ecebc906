import { once } from 'node:events';

/** Resolves at Ctrl-C, and keeps the process alive until then. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => {}, 2 ** 30);
  await once(signal, 'abort');
  clearInterval(alive);
}
