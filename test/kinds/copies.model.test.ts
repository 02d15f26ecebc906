// Copies and their joined documents under random histories, against their oracle: COPY-C1, COPY-C2, COPY-C7 and
// COPY-J1 to COPY-J5.
import { it } from 'vitest';
import type { CopySpec } from '../../src/pipeline/specs.ts';
import { copyRunner } from '../../src/kinds/copy/copy-runner.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { BOTH, COPY, CUSTOMERS, FOLLOWING, JOINED, ORDERS, source, useExact } from './exactness.ts';
import { READ_LAG_MS, SEED } from './world.ts';

const holdExact = useExact();

const sink = { name: 'Copies', keyPaths: [['place']] };
const sources = new Map([ORDERS, CUSTOMERS].map((of) => [of.container, source(of)]));
const runner = (spec: CopySpec): Runner =>
  copyRunner(spec, sink, { stateContainer: 'millrace', sources, readLagMs: READ_LAG_MS });

it.each([COPY, JOINED, BOTH, FOLLOWING].map((spec) => [spec.name, spec] as const))(
  `after any history copy %s is what the oracle says (seed ${SEED})`,
  async (_name, spec) => holdExact(spec, () => runner(spec)),
);

const following = [BOTH, FOLLOWING].map((spec) => [spec.name, spec] as const);

it.each(following)(
  `read by all versions, hard deletes and expiry on both sides, copies %s are what the oracle says (seed ${SEED})`,
  async (_name, spec) => holdExact(spec, () => runner(spec), { feed: 'all-versions' }),
);

it.each(following)(
  `built beside all versions from what there is, copies %s are what the oracle says (seed ${SEED})`,
  async (_name, spec) => holdExact(spec, () => runner(spec), { feed: 'filled' }),
);
