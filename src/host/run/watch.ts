import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Events } from '../../base/diagnostics.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { LeaseStalled } from '../../feed/leases/lease.ts';

const QUIET_MS = 5_000;

/** Says what goes wrong while a pipeline runs, each thing once in a while; the returned function ends that. */
export function watchTroubles(say: (line: string) => void): () => void {
  const last = new Map<string, number>();
  const once = (line: string, example?: string): void => {
    const now = performance.now();
    if (now - (last.get(line) ?? -Infinity) < QUIET_MS) return;
    last.set(line, now);
    say(example === undefined ? line : `${line} (${example})`);
  };
  const failed = (event: unknown): void => {
    const { container, error } = event as Events['feed:failed'];
    once(`feed of ${container}: ${messageOf(error)}; it will be tried again`);
  };
  const rejected = (event: unknown): void => {
    const { container, position, changes, deliveries, error } = event as Events['feed:rejected'];
    const stalled = error instanceof LeaseStalled;
    // A failure is said as such; here that it is one and the same place, less often the longer it lasts.
    if (!stalled && (deliveries === 1 || (deliveries & (deliveries - 1)) !== 0)) return;
    const times = deliveries === 1 ? 'once' : `${deliveries} times`;
    const what = `${changes} changes after ${position || 'the beginning'}`;
    once(`feed of ${container}: ${what} were handed on here ${times}, and come again: ${messageOf(error)}`);
  };
  const parked = (event: unknown): void => {
    const { projection, container, id, error } = event as Events['engine:parked'];
    once(`parked: ${projection} could not apply ${container}/${id}: ${messageOf(error)}`);
  };
  const balancer = (event: unknown): void => {
    const { container, error } = event as Events['balancer:failed'];
    once(`leases of ${container}: ${messageOf(error)}; it will be tried again`);
  };
  const refused = (event: unknown): void => {
    const { error } = event as Events['projection:refused'];
    const mend = error instanceof MillraceError && error.mend !== undefined ? `. ${error.mend}` : '';
    once(`refused: ${messageOf(error)}${mend}`);
  };
  const misfit = (event: unknown): void => {
    const { projection, container, id, path, why } = event as Events['projection:misfit'];
    once(`stored against its type, by ${projection}: ${path} ${why}`, `e.g. of ${container}/${id}`);
  };
  const stuck = (event: unknown): void => {
    const { error } = event as Events['engine:resume-failed'];
    once(`fan-outs: ${messageOf(error)}; they will be gone on with`);
  };
  const channels = [
    ['millrace:projection:refused', refused],
    ['millrace:engine:resume-failed', stuck],
    ['millrace:projection:misfit', misfit],
    ['millrace:feed:failed', failed],
    ['millrace:feed:rejected', rejected],
    ['millrace:engine:parked', parked],
    ['millrace:balancer:failed', balancer],
  ] as const;
  for (const [name, listener] of channels) subscribe(name, listener);
  return () => {
    for (const [name, listener] of channels) unsubscribe(name, listener);
  };
}
