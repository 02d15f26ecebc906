// A recorded status, played as if its hosts applied as many changes a second as one likes.
import { z } from 'zod';
import { type Operation, defineOperation } from '../../src/verbs/operation.ts';
import recorded from './recorded-status.json' with { type: 'json' };

/** Hosts that the status shows, each with the ranges of the recorded one. */
const HOSTS = 4;

/** The status at a time after the beginning `from`, at `rate` changes a second. The same time has the same status. */
export function statusAt(ms: number, rate: number, from = 0): object {
  const [host] = recorded.hosts;
  if (!host) throw new Error('the recorded status has no host');
  const { projections, ranges } = host.status;
  const applied = Math.round((rate * ms) / 1000 / projections.length / HOSTS);
  const handled = (rate * ms) / 1000 / ranges.length / HOSTS;
  const swing = Math.sin(ms / 7_000);
  const hosts = Array.from({ length: HOSTS }, (_, at) => ({
    owner: `worker-${at}`,
    leases: ranges.length,
    status: {
      ...host.status,
      at: new Date(from + ms).toISOString(),
      projections: projections.map((of) => ({ ...of, changes: of.changes + applied })),
      ranges: ranges.map((range) => ({
        ...range,
        lease: `${range.lease}-${at}`,
        handled,
        lag: Math.round(2_000 + 1_000 * swing),
        handledPerSecond: Math.round(rate / ranges.length / HOSTS),
        inPerSecond: Math.round((rate / ranges.length / HOSTS) * (1 + swing / 10)),
      })),
    },
  }));
  return { ...recorded, hosts };
}

/** `status`, and a rebuild that reports each of its changes, at `rate` changes a second until it is stopped. */
export function playedOperations(rate: number): Operation[] {
  const began = Date.now();
  const status = defineOperation({
    name: 'status',
    summary: 'Show a recorded status',
    examples: ['millrace status'],
    effect: 'reads',
    input: z.object({}),
    run: async () => statusAt(Date.now() - began, rate, began),
    format: () => '',
  });
  const rebuild = defineOperation({
    name: 'projections rebuild',
    summary: 'Report changes',
    examples: ['millrace projections rebuild days'],
    effect: 'changes',
    input: z.object({ name: z.string() }),
    run: async (_, { signal, screen }) => {
      const from = performance.now();
      for (let reported = 0; !signal.aborted;) {
        const due = Math.floor(((performance.now() - from) * rate) / 1000);
        while (reported < due) screen.progress('changes applied', (reported += 1));
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return {};
    },
    format: () => 'stopped',
  });
  return [status, rebuild];
}
