import { it } from 'vitest';
import { aggregateRunner } from '../../src/projections/aggregate/runner.ts';
import { AGGREGATE, EACH, SEED, STABLE, holdExact } from './exactness.ts';

it.each([AGGREGATE, EACH, STABLE].map((spec) => [spec.name, spec] as const))(
  `after any history aggregate %s is what the oracle says (seed ${SEED})`,
  async (_name, spec) => {
    const sink = { name: 'Groups', keyPaths: [['tenant']] };
    await holdExact(spec, () => aggregateRunner(spec, sink, { stateContainer: 'millrace' }));
  },
);
