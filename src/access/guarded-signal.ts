import type { OperationOptions } from '@azure/event-hubs';

type SignalLike = NonNullable<OperationOptions['abortSignal']>;
type Listener = Parameters<SignalLike['addEventListener']>[1];

/**
 * The signal, for a client whose own listeners may throw: what they throw is dropped. Node.js ends the process by what a
 * listener throws, and the client's does where a link breaks before it is attached (ASM-H60). The client's promise may
 * then never settle, so the caller waits with `until`.
 */
export function guarded(signal: AbortSignal): SignalLike {
  const known = new Map<Listener, () => void>();
  return {
    get aborted() {
      return signal.aborted;
    },
    addEventListener: (type, listener) => {
      const safe = (): void => {
        try {
          listener.call(signal, new Event(type));
        } catch {
          // The caller has the signal's own reason.
        }
      };
      known.set(listener, safe);
      signal.addEventListener(type, safe);
    },
    removeEventListener: (type, listener) => {
      const safe = known.get(listener);
      if (safe) signal.removeEventListener(type, safe);
      known.delete(listener);
    },
  };
}
