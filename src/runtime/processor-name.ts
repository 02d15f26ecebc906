import type { Pipeline } from '../definition/specs.ts';

/** The prefix of a pipeline's lease ids, here and under Functions, which share the leases. */
export const processorName = ({ name }: Pick<Pipeline, 'name'>): string => `${name}.`;
