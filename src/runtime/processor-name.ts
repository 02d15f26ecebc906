import type { Pipeline } from '../definition/specs.ts';

/** What the ids of a pipeline's leases begin with, here and under Functions: they share them. */
export const processorName = ({ name }: Pick<Pipeline, 'name'>): string => `${name}.`;
