import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Events } from '../../base/telemetry/diagnostics.ts';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { FormatUnreadable } from '../../base/format.ts';
import { LeaseStalled } from '../../feed/leases/lease.ts';
import { plural } from '../../procedures/table.ts';
import { waitingFor } from '../../runtime/stored-formats.ts';

const QUIET_MS = 5_000;
/** One cause may park thousands of changes: so many are named in so long a time, and the others are counted. */
const PARKED = { lines: 5, quietMs: 60_000 };
/** What only an upgrade ends. */
const UNREADABLE_QUIET_MS = 60_000;

/** Reports the problems of a running pipeline, each at most once in `QUIET_MS`. The returned function ends it. */
export function watchTroubles(say: (line: string) => void): () => void {
  const last = new Map<string, number>();
  const once = (line: string, example?: string, quietMs = QUIET_MS): void => {
    const now = performance.now();
    if (now - (last.get(line) ?? -Infinity) < quietMs) return;
    last.set(line, now);
    say(example === undefined ? line : `${line} (${example})`);
  };
  /** True: already reported, once for all feeds. */
  const waits = (error: unknown): boolean => {
    if (!(error instanceof FormatUnreadable)) return false;
    once(waitingFor(error), undefined, UNREADABLE_QUIET_MS);
    return true;
  };
  const failed = (event: unknown): void => {
    const { container, error } = event as Events['feed:failed'];
    if (waits(error)) return;
    once(`feed of ${container}: ${messageOf(error)}; Millrace will try again`);
  };
  const rejected = (event: unknown): void => {
    const { container, position, changes, deliveries, error } = event as Events['feed:rejected'];
    if (waits(error)) return;
    const stalled = error instanceof LeaseStalled;
    // Each failure is reported as a failure. This line reports the repetition, at the 2nd, 4th, 8th … delivery.
    if (!stalled && (deliveries === 1 || (deliveries & (deliveries - 1)) !== 0)) return;
    const times = deliveries === 1 ? 'once' : `${deliveries} times`;
    const what = `${changes} changes after ${position || 'the beginning'}`;
    once(`feed of ${container}: ${what} were delivered ${times}, and will be delivered again: ${messageOf(error)}`);
  };
  let named = { since: -Infinity, lines: 0, others: 0 };
  const countOthers = (): void => {
    if (named.others > 0)
      say(
        `parked: ${plural(named.others, 'other change')} in ${PARKED.quietMs / 1_000} s; see \`millrace dead-letters list\``,
      );
  };
  const parked = (event: unknown): void => {
    const { projection, container, id, error } = event as Events['engine:parked'];
    const now = performance.now();
    if (now - named.since > PARKED.quietMs) {
      countOthers();
      named = { since: now, lines: 0, others: 0 };
    }
    if (named.lines === PARKED.lines) return void (named.others += 1);
    named.lines += 1;
    once(`parked: ${projection} could not apply ${container}/${id}: ${messageOf(error)}`);
  };
  const balancer = (event: unknown): void => {
    const { container, error } = event as Events['balancer:failed'];
    if (waits(error)) return;
    once(`leases of ${container}: ${messageOf(error)}; Millrace will try again`);
  };
  const refused = (event: unknown): void => {
    const { error } = event as Events['projection:refused'];
    const hint = error instanceof MillraceError && error.hint !== undefined ? `. ${error.hint}` : '';
    once(`refused: ${messageOf(error)}${hint}`);
  };
  const shard = (event: unknown): void => {
    const { map, shard: name, error } = event as Events['shard:failed'];
    if (waits(error)) return;
    once(`${name === undefined ? `shard map ${map}` : `shard ${name}`}: ${messageOf(error)}; Millrace will try again`);
  };
  const stuck = (event: unknown): void => {
    const { error } = event as Events['engine:resume-failed'];
    if (waits(error)) return;
    once(`fan-out failed: ${messageOf(error)}; Millrace will resume it`);
  };
  const recreated = (event: unknown): void => {
    const { container } = event as Events['lease:recreated'];
    once(`leases of ${container} were deleted; this host made them again, at the positions where it saw them last`);
  };
  const channels = [
    ['millrace:lease:recreated', recreated],
    ['millrace:projection:refused', refused],
    ['millrace:engine:resume-failed', stuck],
    ['millrace:feed:failed', failed],
    ['millrace:feed:rejected', rejected],
    ['millrace:engine:parked', parked],
    ['millrace:balancer:failed', balancer],
    ['millrace:shard:failed', shard],
  ] as const;
  for (const [name, listener] of channels) subscribe(name, listener);
  return () => {
    countOthers();
    for (const [name, listener] of channels) unsubscribe(name, listener);
  };
}
