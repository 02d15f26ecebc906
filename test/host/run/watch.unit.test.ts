import { expect, it, onTestFinished } from 'vitest';
import { emit } from '../../../src/base/telemetry/diagnostics.ts';
import { LeaseStalled } from '../../../src/feed/leases/lease.ts';
import { watchTroubles } from '../../../src/host/run/watch.ts';

function watched(): string[] {
  const lines: string[] = [];
  onTestFinished(watchTroubles((line) => void lines.push(line)));
  return lines;
}
const rejected = (deliveries: number, error: Error): void =>
  emit('feed:rejected', { container: 'orders', lease: 'P..0', position: '"7"', changes: 90, deliveries, error });

it('the watch says that one place comes again and again, and why, less often the longer it lasts', () => {
  const lines = watched();
  for (let deliveries = 1; deliveries <= 9; deliveries++) rejected(deliveries, new Error('the sink is not there'));
  expect(lines).toEqual(
    [2, 4, 8].map(
      (times) =>
        `feed of orders: 90 changes after "7" were delivered ${times} times, and will be delivered again: the sink is not there`,
    ),
  );
});

it('the watch names five of many parked changes, and counts the others', () => {
  const lines: string[] = [];
  const end = watchTroubles((line) => void lines.push(line));
  for (let n = 1; n <= 89; n++)
    emit('engine:parked', { projection: 'sums@1', container: 'orders', id: `order-${n}`, error: new Error('no date') });
  end();
  expect(lines).toEqual([
    ...[1, 2, 3, 4, 5].map((n) => `parked: sums@1 could not apply orders/order-${n}: no date`),
    'parked: 84 other changes in 60 s; see `millrace dead-letters list`',
  ]);
});

it('the watch says at once that a handler hung', () => {
  const lines = watched();
  rejected(1, new LeaseStalled('P..0', 'a handler has taken more than 180 s'));
  expect(lines).toEqual([
    'feed of orders: 90 changes after "7" were delivered once, and will be delivered again: Lease P..0 is lost: a handler has taken more than 180 s',
  ]);
});

it('the watch says what the leases are troubled by', () => {
  const lines = watched();
  emit('balancer:failed', { container: 'orders', error: new Error('Lease P..0 can’t be read') });
  expect(lines).toEqual(['leases of orders: Lease P..0 can’t be read; Millrace will try again']);
});
