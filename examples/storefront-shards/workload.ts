// The history of the storefront, of the containers that this pipeline reads.
import type { LoadOptions, Step } from 'millrace';
import { load as loadStorefront } from '../storefront/workload.ts';

const READ = new Set(['Stores', 'Customers', 'Orders', 'Countries']);

export async function* load(options: LoadOptions): AsyncGenerator<Step, void, undefined> {
  for await (const step of loadStorefront(options)) if (READ.has(step.container)) yield step;
}
