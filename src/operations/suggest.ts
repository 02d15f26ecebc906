import { near } from '../definition/near.ts';

/** `: did you mean X?` where a known name is near, else nothing. */
export function suggestion(wanted: string, known: readonly string[]): string {
  const best = near(wanted, known);
  return best === undefined ? '' : `: did you mean ${best}?`;
}
