import type { Database } from '@azure/cosmos';
import { canonical, digest } from '../../base/json.ts';
import {
  type AggregateSpec,
  type Doc,
  type MeasureSpec,
  type SourceRules,
  projectionId,
} from '../../definition/specs.ts';
import { recompute, rowKey } from '../../definition/oracle/recompute.ts';
import type { ContributionDocument } from '../../projections/aggregate/contribution.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { Parked } from './parked.ts';
import type { Candidate } from './difference.ts';

export interface ContributionsContext {
  readonly database: Database;
  readonly rules: readonly SourceRules[];
  /** Of the sources, and of the sink. */
  readonly sourceKeys: readonly string[];
  readonly keyPaths: readonly string[];
  readonly signal: AbortSignal;
  /** What is parked of the projection. */
  readonly letters: Parked;
}

/** `unsure`: a group that holds an older version of what is parked now, so that nobody can say what it must be. */
export type ContributionPart = Candidate | { readonly unsure: string };

/** What one source document adds to a group, as it shows: a group of it alone. */
type Parts = Map<string, string>;

/**
 * Compares what each document adds to each group with what it must add by the oracle, asked for a group of that document
 * alone. An aggregate may be right and what lies behind it wrong: then the next change, a deletion or a move, would make
 * it wrong. Such a group is told by its aggregate's name.
 */
export async function* checkContributions(
  spec: AggregateSpec,
  docs: readonly Doc[],
  { database, rules, sourceKeys, keyPaths, signal, letters }: ContributionsContext,
): AsyncGenerator<ContributionPart> {
  const expected = new Map<string, Parts>();
  const found = new Map<string, Parts>();
  const etags = new Map<string, string[]>();
  for (const doc of docs) {
    const source = rowKey(doc, sourceKeys);
    for (const [group, row] of recompute(spec, () => [doc], rules, { keyPaths, refused: () => undefined }))
      partsOf(expected, group).set(source, canonical(measured(spec, (field) => row[field])));
  }
  const query = {
    query: `SELECT * FROM c WHERE c.type = 'millrace.contribution' AND c["by"] = @by`,
    parameters: [{ name: '@by', value: projectionId(spec) }],
  };
  const stored = fetchAll<ContributionDocument>(database.container(spec.into.container), query, signal);
  for await (const { of, source, values, _etag, ...rest } of stored) {
    if (values === null) continue;
    const group = rowKey({ ...rest, id: of }, keyPaths);
    if (letters.has(source)) {
      yield { unsure: group };
      continue;
    }
    const shown = measured(spec, (field, measure) => shownBy(measure, values.m[field], values.rows));
    partsOf(found, group).set(canonical([...source.key, source.id]), canonical(shown));
    etags.set(group, [...(etags.get(group) ?? []), String(_etag)]);
  }
  for (const group of new Set([...expected.keys(), ...found.keys()])) {
    const [must, is] = [partsOf(expected, group), partsOf(found, group)];
    const wrong = [...new Set([...must.keys(), ...is.keys()])].filter((source) => must.get(source) !== is.get(source));
    if (wrong.length === 0) continue;
    yield {
      projections: [projectionId(spec)],
      container: spec.into.container,
      document: group,
      kind: must.size === 0 ? 'unexpected' : 'different',
      derived: { by: projectionId(spec) },
      fields: ['contributions'],
      expected: { contributions: some(must, wrong) },
      found: { contributions: some(is, wrong) },
      evidence: digest([wrong.map((source) => must.get(source) ?? null), (etags.get(group) ?? []).toSorted()]),
    };
  }
}

/** As many as a person looks at. */
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

/** What a group of one document shows of a measure, by what is stored of that document. */
function shownBy(measure: MeasureSpec, part: unknown, rows: number): unknown {
  if (measure.kind === 'count') return rows;
  if (measure.kind === 'avg') return Number(part) / rows;
  if (measure.kind === 'distinct') return (part as readonly unknown[]).length;
  if (measure.kind === 'top')
    return (part as { readonly rows: readonly { keep: unknown }[] }).rows.map(({ keep }) => keep);
  return part;
}
