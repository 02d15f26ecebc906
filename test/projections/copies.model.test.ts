import { it } from 'vitest';
import { copyRunner } from '../../src/projections/copy/runner.ts';
import { BOTH, COPY, CUSTOMERS, JOINED, ORDERS, holdExact, source } from './exactness.ts';
import { READ_LAG_MS, SEED } from './world.ts';

it.each([COPY, JOINED, BOTH].map((spec) => [spec.name, spec] as const))(
  `after any history copy %s is what the oracle says (seed ${SEED})`,
  async (_name, spec) => {
    const sink = { name: 'Copies', keyPaths: [['place']] };
    const sources = new Map([ORDERS, CUSTOMERS].map((of) => [of.container, source(of)]));
    await holdExact(spec, () =>
      copyRunner(spec, sink, { stateContainer: 'millrace', sources, readLagMs: READ_LAG_MS }),
    );
  },
);
