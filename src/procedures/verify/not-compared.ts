import { plural } from '../table.ts';
import type { Comparison } from './look.ts';

/** Source documents that were not compared, by the code that their change is parked with, or `refused`. */
export type NotCompared = Readonly<Record<string, number>>;

/** The number of each. */
export function countBy(names: Iterable<string>): Record<string, number> {
  const by: Record<string, number> = {};
  for (const name of names) by[name] = (by[name] ?? 0) + 1;
  return by;
}

export function notComparedOf({ parked, projections }: Pick<Comparison, 'parked' | 'projections'>): {
  readonly notCompared?: NotCompared;
} {
  const refused = projections.reduce((sum, one) => sum + one.refused, 0);
  const notCompared = { ...countBy(parked.map(({ code }) => code)), ...(refused > 0 && { refused }) };
  return Object.keys(notCompared).length > 0 ? { notCompared } : {};
}

/** How many documents were not compared, and why. */
export const sayNotCompared = (notCompared: NotCompared): string => {
  const all = Object.values(notCompared).reduce((sum, count) => sum + count, 0);
  const why = Object.entries(notCompared).map(([code, count]) =>
    code === 'refused' ? `a function refuses ${count}` : `${count} parked (${code})`,
  );
  return `${plural(all, 'source document')} not compared, nor what derives from older versions: ${why.join(', ')}`;
};
