import { abortReason } from './errors.ts';

/** Settles as the promise does, or rejects with the signal's reason as soon as it is aborted. The promise runs on. */
export function until<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => undefined);
  return new Promise<T>((resolve, reject) => {
    const aborted = (): void => reject(abortReason(signal));
    if (signal.aborted) return aborted();
    signal.addEventListener('abort', aborted, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', aborted));
  });
}
