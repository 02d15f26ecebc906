import type { ArchiveFault } from '../../archive/types.ts';
import { plural } from '../table.ts';

/** Most blobs and manifests that are printed. */
const PRINTED = 20;

/** A line for each damaged blob or manifest, with its number of damaged documents; `documents` also lists each of them. */
export function faultLines(faults: readonly ArchiveFault[], { documents = false } = {}): string[] {
  const groups = [...Map.groupBy(faults, ({ blob }) => blob)];
  const lines = groups.slice(0, PRINTED).flatMap(([blob, of]) => {
    const ofDocuments = of.filter(({ id }) => id !== undefined);
    const count = plural(ofDocuments.length, 'document');
    const own = of.filter(({ id }) => id === undefined);
    const [first] = ofDocuments;
    const heads =
      own.length === 0 && first
        ? [`  ${first.code}: Blob ${blob} differs from ${ofDocuments.length === 1 ? 'an entry' : 'entries'}: ${count}`]
        : own.map(({ code, what }) => `  ${code}: ${what}${ofDocuments.length === 0 ? '' : `; ${count} in it`}`);
    return [...heads, ...(documents ? ofDocuments.map(({ what }) => `    ${what}`) : [])];
  });
  if (groups.length > PRINTED)
    lines.push(`  … and ${plural(groups.length - PRINTED, 'other blob')}; --json shows them all.`);
  return lines;
}
