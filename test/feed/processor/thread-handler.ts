// The handler of handler-threads.int.test.ts: does what each document says, and tells whoever listens on its channel.
import type { ChangeHandler } from 'millrace/feed';

interface Order {
  readonly channel: string;
  readonly blockMs?: number;
  readonly fail?: string;
  readonly checkpoint?: boolean;
  readonly untilAborted?: boolean;
  readonly assertAfterMs?: number;
  readonly confirm?: boolean;
}

const handle: ChangeHandler = async (changes, context) => {
  for (const change of changes) {
    const {
      channel,
      blockMs = 0,
      fail,
      checkpoint,
      untilAborted,
      assertAfterMs,
      confirm,
    } = change.doc as unknown as Order;
    const tell = (said: unknown): void => {
      const to = new BroadcastChannel(channel);
      to.postMessage({ id: change.id, said });
      to.close();
    };
    block(blockMs);
    if (untilAborted === true) {
      await new Promise((resolve) => context.signal.addEventListener('abort', resolve, { once: true }));
      tell(String(context.signal.reason));
    }
    if (assertAfterMs !== undefined) block(assertAfterMs);
    try {
      context.assertOwned();
      if (confirm === true) await context.assertOwned({ fresh: true });
    } catch (error) {
      tell(String(error));
      throw error;
    }
    if (fail !== undefined) throw new TypeError(fail);
    // After the handler has resolved.
    if (checkpoint === true) setTimeout(() => void context.checkpoint(change).then(() => tell('stored')), 10);
    else tell(`handled, attempt ${context.attempt} of lease ${context.leaseToken}`);
  }
};

/** The thread's event loop stands still, as when it computes. */
function block(ms: number): void {
  if (ms > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

export default handle;
