import { isObject } from '../../base/json.ts';
import { type OutsideSpec, projectionId } from '../../pipeline/specs.ts';
import { entryId } from '../../pipeline/derived-ids.ts';
import { raised, sortable } from '../../kinds/send/send-runner.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import type { Candidate } from '../verify/difference.ts';
import { applyAgain } from './apply-again.ts';

export interface RepairedSink {
  /** Removed rows that no source document accounts for. */
  readonly removed: number;
  readonly applied: number;
  /** Request units. */
  readonly charge: number;
  readonly obstacles: ReadonlyMap<Candidate, string>;
}

/**
 * Sends the differing rows again, beside the live hosts. A sink takes a version once, so each goes under a version between
 * that of its change and that of every later one (`raised`).
 */
export async function repairSink(
  spec: OutsideSpec,
  differences: readonly Candidate[],
  options: Parts & { readonly readLagMs: number; readonly signal: AbortSignal },
): Promise<RepairedSink> {
  const { signal } = options;
  // Of a document there may be several: its own rows may be missing, and others have strayed. What was found has a version.
  const inOrder = differences.toSorted((a, b) => Number(a.found !== undefined) - Number(b.found !== undefined));
  const byId = new Map(inOrder.map((one) => [one.document, one]));
  const strayed = strayedOf(differences);
  const strayedAs = (id: string) => strayed.has(id) && { strayed: strayed.get(id) };
  const obstacles = new Map<Candidate, string>();
  const met = new Set<string>();
  const again = (version: string, id: string): string | undefined => raised(version, heldVersion(byId.get(id)));
  const to: OutsideSpec['to'] = {
    write: (entries, until) =>
      spec.to.write(
        entries.map(({ version, ...entry }) => ({
          ...entry,
          version: again(version, entry.id) ?? version,
          ...strayedAs(entry.id),
        })),
        until,
      ),
  };
  const { applied, charge } = await applyAgain({ ...spec, to }, options, (change) => {
    const one = byId.get(entryId(change.key, change.id));
    // Where a document has moved to, it is met again. If it was deleted there, its row has no document.
    if (!one || (change.moved && change.op === 'delete')) return undefined;
    met.add(one.document);
    if (again(sortable(change), one.document) !== undefined) return change;
    obstacles.set(
      one,
      'the sink has a newer version of it than its source, or it was repaired too often: rebuild the sink',
    );
    return undefined;
  });
  let removed = 0;
  for (const one of differences.filter(({ document, kind }) => !met.has(document) && kind === 'unexpected')) {
    const held = heldVersion(one);
    const version = held === undefined ? undefined : raised(held, held);
    if (version === undefined) {
      obstacles.set(
        one,
        `the rows of the sink of ${projectionId(spec)} show no version to remove it under: rebuild the sink`,
      );
      continue;
    }
    const place = one.found?.['place'];
    await spec.to.write(
      [{ id: one.document, version, row: null, ...(place !== undefined && { place }), ...strayedAs(one.document) }],
      signal,
    );
    removed += 1;
  }
  return { removed, applied, charge, obstacles };
}

const heldVersion = (one: Candidate | undefined): string | undefined => {
  const version = one?.found?.['version'];
  return typeof version === 'string' ? version : undefined;
};

/** By document: the tenants under which there are rows that it doesn't account for. */
function strayedOf(differences: readonly Candidate[]): Map<string, unknown[]> {
  const tenants = new Map<string, unknown[]>();
  for (const { document, kind, found } of differences) {
    const place = found?.['place'];
    if (kind !== 'unexpected' || !isObject(place) || place['tenant'] === undefined || place['tenant'] === null)
      continue;
    tenants.set(document, [...(tenants.get(document) ?? []), place['tenant']]);
  }
  return tenants;
}
