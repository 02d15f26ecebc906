// Turns in the budget: RU of tenants with any number of ranges. docs/SPEC-budget.md, BUD-B8; docs/SPEC-tenants.md, TEN-F21.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { FairQueue } from '../../../src/cosmos/budget/fair-queue.ts';
import { suiteSeed } from '../../support/seed.ts';

const SEED = suiteSeed();
const LARGEST = 600;
/** RU that are spent in a history. */
const SPENT = 60_000;

interface Tenant {
  /** Each has one request that waits or is under way. As many more are there as can be under way, so that one waits always. */
  readonly ranges: number;
  readonly charges: readonly number[];
  /** RU that all have spent when it begins. */
  readonly from: number;
}

const tenants = fc.array(
  fc.record<Tenant>({
    ranges: fc.integer({ min: 1, max: 12 }),
    charges: fc.array(fc.integer({ min: 1, max: LARGEST }), { minLength: 1, maxLength: 5 }),
    from: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: SPENT / 2 })),
  }),
  { minLength: 2, maxLength: 6 },
);

type Queue = Pick<FairQueue<number>, 'add' | 'next' | 'spend'>;

/**
 * A partition that serves one request at a time, of which the charge is known `late` requests after it began. Returns what
 * each tenant has spent since the last of them began.
 */
function played(all: readonly Tenant[], expected: number, late: number, queue: Queue): number[] {
  const spent = all.map(() => 0);
  const begun = all.map(() => 0);
  let sum = 0;
  const last = Math.max(...all.map(({ from }) => from));
  const waiting = all.map(() => false);
  const underway: { readonly tenant: number; readonly charge: number }[] = [];
  while (sum < last + SPENT) {
    for (const [tenant, { ranges, from }] of all.entries()) {
      if (waiting[tenant] || from > sum) continue;
      waiting[tenant] = true;
      for (let range = 0; range < ranges + late + 1; range++) queue.add(`t${tenant}`, tenant);
    }
    const next = queue.next();
    if (next) {
      const { thing: tenant } = next;
      const { charges } = all[tenant]!;
      const charge = charges[begun[tenant]! % charges.length]!;
      begun[tenant]! += 1;
      queue.spend(`t${tenant}`, expected);
      underway.push({ tenant, charge });
    }
    if (next && underway.length <= late) continue;
    const ended = underway.shift();
    // No one waits and nothing is under way: time passes.
    sum += ended?.charge ?? LARGEST;
    if (!ended) continue;
    queue.spend(`t${ended.tenant}`, ended.charge - expected);
    if (sum > last) spent[ended.tenant]! += ended.charge;
    queue.add(`t${ended.tenant}`, ended.tenant);
  }
  return spent;
}

/** What two tenants may differ by: a request each, and what is not known yet of those under way. */
const bound = (late: number): number => (2 * late + 4) * LARGEST;

const histories = (queueOf: () => Queue): boolean => {
  const fair = fc.property(
    tenants,
    fc.integer({ min: 1, max: LARGEST }),
    fc.integer({ min: 0, max: 8 }),
    (all, expected, late) => {
      const spent = played(all, expected, late, queueOf());
      return Math.max(...spent) - Math.min(...spent) <= bound(late);
    },
  );
  return !fc.check(fair, { seed: SEED, numRuns: 500, endOnFailure: true }).failed;
};

test(`tenants that wait spend as much as each other, in however many ranges they are (seed ${SEED})`, () => {
  expect(histories(() => new FairQueue<number>())).toBe(true);
});

test.each<[string, () => Queue]>([
  [
    'serves who came first',
    () => {
      const queue = new FairQueue<number>();
      return { add: (_, thing) => queue.add(undefined, thing), next: () => queue.next(), spend: () => undefined };
    },
  ],
  [
    'counts requests',
    () => {
      const queue = new FairQueue<number>();
      return {
        add: (tenant, thing) => queue.add(tenant, thing),
        next: () => {
          const waiter = queue.next();
          if (waiter) queue.spend(waiter.tenant, 1);
          return waiter;
        },
        spend: () => undefined,
      };
    },
  ],
  [
    'corrects no expectation',
    () => {
      const queue = new FairQueue<number>();
      const spend = (tenant: string | undefined, ru: number): void => {
        if (ru > 0) queue.spend(tenant, ru);
      };
      return { add: (tenant, thing) => queue.add(tenant, thing), next: () => queue.next(), spend };
    },
  ],
])('a queue that %s is found', (_, queueOf) => {
  expect(histories(queueOf)).toBe(false);
});

test('a tenant that comes later begins where the others are', () => {
  const queue = new FairQueue<string>();
  const serve = (): string => {
    const { tenant, thing } = queue.next()!;
    queue.spend(tenant, 10);
    return thing;
  };
  for (let n = 0; n < 4; n++) queue.add('early', `e${n}`);
  expect([serve(), serve()]).toEqual(['e0', 'e1']);
  for (let n = 0; n < 3; n++) queue.add('late', `l${n}`);
  expect([serve(), serve(), serve(), serve(), serve()]).toEqual(['l0', 'e2', 'l1', 'e3', 'l2']);
});

test('a request that is taken back is not served, and those without a tenant come in their order', () => {
  const queue = new FairQueue<number>();
  const leave = queue.add(undefined, 1);
  queue.add(undefined, 2);
  queue.add(undefined, 3);
  leave();
  leave();
  expect([...queue.all()].map(({ thing }) => thing)).toEqual([2, 3]);
  expect(queue.isEmpty).toBe(true);
});
