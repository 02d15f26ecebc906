// Aggregates under random histories, against their oracle: AGG-G1 to AGG-G6, AGG-G9 to
// AGG-G11 and AGG-G13.
import { expect, it } from 'vitest';
import type { AggregateSpec } from '../../src/pipeline/specs.ts';
import { aggregateRunner } from '../../src/kinds/aggregate/aggregate-runner.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { AGGREGATE, BY_HOUR, BY_HOUR_TABLE, EACH, ROLLED_UP, STABLE, useExact } from './exactness.ts';
import { SEED, historiesOr } from './world.ts';

const holdExact = useExact();

const sink = { name: 'Groups', keyPaths: [['tenant']] };
const runner = (spec: AggregateSpec, feeds = false): Runner =>
  aggregateRunner(spec, sink, { stateContainer: 'millrace', feeds });

it.each([AGGREGATE, EACH, STABLE].map((spec) => [spec.name, spec] as const))(
  `after any history aggregate %s is what the oracle says (seed ${SEED})`,
  async (_name, spec) => holdExact(spec, () => runner(spec)),
);

it(`after any history aggregate by-hour is what the oracle says, by windows of a table (seed ${SEED})`, () =>
  holdExact(BY_HOUR, () => runner(BY_HOUR), { oracle: BY_HOUR_TABLE }));

it(`read by all versions, hard deletes and expiry among them, groups are what the oracle says (seed ${SEED})`, () =>
  holdExact(AGGREGATE, () => runner(AGGREGATE), { feed: 'all-versions' }));

it(`built beside all versions from what there is, groups are what the oracle says (seed ${SEED})`, () =>
  holdExact(AGGREGATE, () => runner(AGGREGATE), { feed: 'filled' }));

it.each([
  ['after any history', 'latest'],
  ['read by all versions', 'all-versions'],
] as const)(`%s an aggregate of an aggregate is what the oracle says (seed ${SEED})`, async (_, feed) => {
  // Which group a deleted one was in, a stable aggregate could not know: it is refused by all versions.
  const spec = feed === 'latest' ? ROLLED_UP : { ...ROLLED_UP, stable: false };
  let emptied = 0;
  const rollUp = (): Runner => {
    const [leaf, parent] = [runner(AGGREGATE, true), runner(spec)];
    return {
      ...parent,
      sources: [...leaf.sources, ...parent.sources],
      apply: async (changes, access) => {
        const own = changes.filter(({ container }) => container === ROLLED_UP.from.container);
        emptied += own.filter(({ op }) => op === 'delete').length;
        await leaf.apply(
          changes.filter((change) => !own.includes(change)),
          access,
        );
        await parent.apply(own, access);
      },
    };
  };
  await holdExact(spec, rollUp, { feed, usual: 40 });
  // One history alone may have none.
  expect(emptied, 'groups that lost their last row').toBeGreaterThan(historiesOr(40) < 40 ? -1 : 0);
});
