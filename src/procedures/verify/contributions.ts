import { canonical, digest } from '../../base/json.ts';
import { type MeasureSpec, groupValue } from '../../pipeline/builders/measures.ts';
import { type AggregateSpec, type Doc, type SourceRules, projectionId } from '../../pipeline/specs.ts';
import { recompute, rowKey } from '../../pipeline/oracle/recompute.ts';
import type { ContributionDocument } from '../../kinds/aggregate/contribution.ts';
import type { ParkedDocuments } from './parked.ts';
import { type Candidate, notStable } from './difference.ts';

export interface ContributionsContext {
  /** The stored contributions to compare. */
  readonly stored: AsyncIterable<ContributionDocument> | Iterable<ContributionDocument>;
  readonly rules: readonly SourceRules[];
  /** The key paths of the source's container, and of the sink's. */
  readonly sourceKeys: readonly string[];
  readonly keyPaths: readonly string[];
  /** The parked documents of the projection. */
  readonly letters: ParkedDocuments;
}

/** `unsure`: a group that contains an older version of a parked document, so that its correct content is unknown. */
export type ContributionPart = Candidate | { readonly unsure: string };

/** The contributions to a group by source document, each as the content of a group with that document alone. */
type Parts = Map<string, string>;

/**
 * Compares each document's stored contribution to each group with that of the oracle, computed for a group of this
 * document alone. An aggregate may be right while its contributions are wrong: then the next change, deletion or move
 * would make it wrong. The difference names the group's aggregate.
 */
export async function* checkContributions(
  spec: AggregateSpec,
  docs: readonly Doc[],
  { stored, rules, sourceKeys, keyPaths, letters }: ContributionsContext,
): AsyncGenerator<ContributionPart> {
  const expected = new Map<string, Parts>();
  const found = new Map<string, Parts>();
  const etags = new Map<string, string[]>();
  const sources = new Set<string>();
  for (const doc of docs) {
    const source = rowKey(doc, sourceKeys);
    if (spec.stable) sources.add(source);
    for (const [group, row] of recompute(spec, () => [doc], rules, { keyPaths, refused: () => undefined }))
      partsOf(expected, group).set(source, canonical(measured(spec, (field) => row[field])));
  }
  for await (const { of, source, values, _etag, ...rest } of stored) {
    if (values === null) continue;
    const group = rowKey({ ...rest, id: of }, keyPaths);
    if (letters.has(source)) {
      yield { unsure: group };
      continue;
    }
    const shown = measured(spec, (field, measure) => groupValue(measure, values.m[field], values.rows));
    partsOf(found, group).set(canonical([...source.key, source.id]), canonical(shown));
    etags.set(group, [...(etags.get(group) ?? []), String(_etag)]);
  }
  for (const group of new Set([...expected.keys(), ...found.keys()])) {
    const [must, is] = [partsOf(expected, group), partsOf(found, group)];
    const wrong = [...new Set([...must.keys(), ...is.keys()])].filter((source) => must.get(source) !== is.get(source));
    if (wrong.length === 0) continue;
    const left = wrong.find((source) => is.has(source) && !must.has(source) && sources.has(source));
    yield {
      projections: [projectionId(spec)],
      container: spec.into.container,
      document: group,
      kind: must.size === 0 ? 'unexpected' : 'different',
      derived: { by: projectionId(spec) },
      fields: ['contributions'],
      expected: { contributions: some(must, wrong) },
      found: { contributions: some(is, wrong) },
      ...(left !== undefined && { why: notStable(projectionId(spec), left) }),
      evidence: digest([wrong.map((source) => must.get(source) ?? null), (etags.get(group) ?? []).toSorted()]),
    };
  }
}

/** The number of contributions to show; more would be too long to read. */
const SHOWN = 5;
const some = (parts: Parts, wrong: readonly string[]): Doc =>
  Object.fromEntries(
    wrong.slice(0, SHOWN).map((source) => [source, JSON.parse(parts.get(source) ?? 'null') as unknown]),
  );

function partsOf(groups: Map<string, Parts>, group: string): Parts {
  const known = groups.get(group);
  if (known) return known;
  const parts: Parts = new Map();
  groups.set(group, parts);
  return parts;
}

const measured = (spec: AggregateSpec, of: (field: string, measure: MeasureSpec) => unknown): Doc =>
  Object.fromEntries(Object.entries(spec.measures).map(([field, measure]) => [field, of(field, measure)]));
