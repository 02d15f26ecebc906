import type { ArchiveFault } from '../../archive/types.ts';
import { plural } from '../table.ts';

/** Blobs and manifests printed. */
const PRINTED = 20;

/** A line for each blob or manifest, with how many documents of it are concerned; each of those too where asked for. */
export function faultLines(faults: readonly ArchiveFault[], { documents = false } = {}): string[] {
  const groups = [...Map.groupBy(faults, ({ blob }) => blob)];
  const lines = groups.slice(0, PRINTED).flatMap(([blob, of]) => {
    const ofDocuments = of.filter(({ id }) => id !== undefined);
    const count = plural(ofDocuments.length, 'document');
    const own = of.filter(({ id }) => id === undefined);
    const [first] = ofDocuments;
    const heads =
      own.length === 0 && first
        ? [
            `  ${first.code}: Blob ${blob} isn't what ${ofDocuments.length === 1 ? 'an entry says' : 'entries say'}: ${count}`,
          ]
        : own.map(({ code, what }) => `  ${code}: ${what}${ofDocuments.length === 0 ? '' : `; ${count} in it`}`);
    return [...heads, ...(documents ? ofDocuments.map(({ what }) => `    ${what}`) : [])];
  });
  if (groups.length > PRINTED)
    lines.push(`  … and ${plural(groups.length - PRINTED, 'other blob')}; --json shows them all.`);
  return lines;
}
