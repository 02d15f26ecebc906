// The fields that a sink document must have beside its content, by which its projection recognises it: docs/SPEC-rebuild.md.
import { canonical, digest, isObject } from '../../base/json.ts';
import type { Doc } from '../../pipeline/specs.ts';
import type { GroupFacts } from '../../pipeline/oracle/recompute.ts';
import type { Identity } from '../../feed/reading/change.ts';

/** What the sources determine of a sink document's own fields. */
export interface Derived {
  /** `name@version`. */
  readonly by: string;
  /** For copies: the copied document. */
  readonly source?: Identity | undefined;
  /** For reference data. */
  readonly tenant?: Identity | undefined;
  /** For a copy that waits for a joined document: no copy is expected, but a locator that says so. */
  readonly waits?: true;
  /** For aggregates. */
  readonly group?: GroupFacts | undefined;
}

export const tenantRef = ({ container, key, id }: Identity): string => digest([container, key, id]);

/** The wrong ones among Millrace's own fields. Versions are not compared, because they may be older. */
export function wrongOwnFields(derived: Derived, stored: Doc): string[] {
  const { by, source, tenant, group } = derived;
  const mr = isObject(stored['_mr']) ? stored['_mr'] : {};
  const src = stored['_src'];
  const wrong: string[] = [];
  const use = isObject(mr['tenant']) ? mr['tenant'] : {};
  if (mr['by'] !== by || (tenant && use['ref'] !== tenantRef(tenant)) || (group && !fits(group, mr))) wrong.push('_mr');
  const same = isObject(src) && src['id'] === source?.id && canonical(src['pk']) === canonical(source?.key);
  if (source && !same) wrong.push('_src');
  return wrong;
}

function fits({ rows, sums, rounding }: GroupFacts, mr: Doc): boolean {
  if (mr['rows'] !== rows || !isObject(mr['sums'])) return false;
  const stored = mr['sums'];
  return Object.entries(sums).every(([field, sum]) =>
    withinOwnPart(sum, stored[field], bound(rounding[field], mr, field)),
  );
}

/** How far a stored sum may differ from the recomputed one: the rounding of both. */
export function bound(rounding: number | undefined, mr: Doc, field: string): number {
  const own = isObject(mr['rounding']) ? mr['rounding'][field] : undefined;
  return (rounding ?? 0) + (typeof own === 'number' && Number.isFinite(own) ? own : 0);
}

export const withinOwnPart = (a: unknown, b: unknown, off: number): boolean =>
  typeof a === 'number' && typeof b === 'number' && Math.abs(a - b) <= off;
