import { once } from 'node:events';
import { until } from '../../base/until.ts';

/** Resolves at Ctrl-C, and keeps the process alive until then. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const alive = setInterval(() => {}, 2 ** 30);
  await once(signal, 'abort');
  clearInterval(alive);
}

/** Waits for the end of some work, but no longer than `ms`: what asks a service that doesn't answer may last for minutes. */
export async function ended(ms: number, end: () => Promise<unknown>): Promise<void> {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  try {
    await until(end(), late.signal);
  } catch (error) {
    if (!late.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
}
