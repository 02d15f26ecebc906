// Which versions a tenure leaves out, under random histories of copies and aggregates with an enricher beside them, against
// their oracle: ECHO-R10; references.model has reference data.
import { it } from 'vitest';
import { aggregateRunner } from '../../src/kinds/aggregate/aggregate-runner.ts';
import { copyRunner } from '../../src/kinds/copy/copy-runner.ts';
import type { CopySpec } from '../../src/pipeline/specs.ts';
import { leavingOut } from './enricher.ts';
import { AGGREGATE, BOTH, COPY, CUSTOMERS, ORDERS, source, useExact } from './exactness.ts';
import { READ_LAG_MS, SEED } from './world.ts';

const holdExact = useExact();

const stateContainer = 'millrace';
const sources = new Map([ORDERS, CUSTOMERS].map((of) => [of.container, source(of)]));
const copies = { name: 'Copies', keyPaths: [['place']] };
const groups = { name: 'Groups', keyPaths: [['tenant']] };
const copier = (spec: CopySpec) => copyRunner(spec, copies, { stateContainer, sources, readLagMs: READ_LAG_MS });
const adder = () => aggregateRunner(AGGREGATE, groups, { stateContainer, feeds: false });

const KINDS = [
  ['copies', COPY, () => copier(COPY), [ORDERS]],
  // Of its own documents such a copy needs every version (unreadBy).
  ['joined copies', BOTH, () => copier(BOTH), [CUSTOMERS]],
  ['groups', AGGREGATE, adder, [ORDERS]],
] as const;

it.each(
  KINDS.flatMap(([what, ...kind]) => (['latest', 'all-versions'] as const).map((by) => [what, by, ...kind] as const)),
)(`beside an enricher, %s by %s are what the oracle says (seed ${SEED})`, async (_, feed, spec, make, of) => {
  const watched = leavingOut(({ container }) => (of.some((one) => one.container === container) ? ['/v'] : []));
  await holdExact(spec, () => watched.runner(make()), { feed, enriched: true });
  watched.expectSome();
});
