// The storefront's history, written to the same containers.
export { load } from '../storefront/workload.ts';
