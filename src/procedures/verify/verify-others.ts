// Verifies the kinds that don't write whole documents of a container: embeds, and sinks outside the account.
import type { Container } from '@azure/cosmos';
import { canonical, digest } from '../../base/json.ts';
import {
  type Doc,
  type EmbedSpec,
  type OutsideSpec,
  type Pipeline,
  type SourceRef,
  type TableRow,
  isOutside,
  projectionId,
} from '../../pipeline/specs.ts';
import { same } from '../../pipeline/declaration.ts';
import { recomputeEmbeds } from '../../pipeline/oracle/recompute-embeds.ts';
import { recomputeRows } from '../../pipeline/oracle/recompute-rows.ts';
import { rowKey } from '../../pipeline/oracle/recompute.ts';
import { entryId } from '../../pipeline/derived-ids.ts';
import { tenantRuleOf } from '../../pipeline/tenant.ts';
import { expectedFrom, readStarts } from '../../engine/views/starts.ts';
import { type Model, keyPathsOf } from '../../model/model.ts';
import type { Counts } from './asked-part.ts';
import { type ParkedDocument, parkedIdentityOf, parkedOf } from './parked.ts';
import type { Candidate, Difference } from './difference.ts';

export type OtherSpec = EmbedSpec | OutsideSpec;

interface OthersContext {
  readonly pipeline: Pipeline;
  readonly model: Model;
  /** The current documents of a source type. */
  readonly documentsOf: (of: SourceRef) => readonly Doc[];
  /** The container with the dead letters of embeds. */
  readonly state: Container;
  /** Those with the dead letters of a sink outside. */
  readonly statesOf: (spec: OutsideSpec) => Promise<readonly Container[]>;
  readonly counts?: Counts | undefined;
}

export interface OtherComparison {
  readonly id: string;
  readonly expected: number;
  readonly refused: number;
  readonly found: number;
  readonly differences: readonly Candidate[];
  readonly parked: readonly ParkedDocument[];
}

/** The specs of a pipeline that this file verifies: embeds, and outside sinks that declare `rows`. */
export const othersOf = ({ embeds, effects }: Pipeline): OtherSpec[] => [
  ...embeds,
  ...effects.filter(isOutside).filter(({ to }) => to.rows !== undefined),
];

/** Compares the embedded fields of children of a type, for each embed separately; those of other embeds count as found. */
export async function* checkChildren(
  { pipeline, model, documentsOf, state, counts }: Omit<OthersContext, 'statesOf'>,
  specs: readonly EmbedSpec[],
  children: readonly Doc[],
): AsyncGenerator<OtherComparison> {
  for (const spec of specs) {
    const { into } = spec;
    const keyPaths = keyPathsOf(model, into.container);
    let refused = 0;
    const all = (ref: SourceRef): readonly Doc[] => (same(ref, into) ? children : documentsOf(ref));
    const sources = [spec.from, into].map((ref) => ({
      docs: all(ref),
      of: ref,
      keyPaths: keyPathsOf(model, ref.container),
    }));
    const letters = await parkedOf([state], projectionId(spec), sources);
    // The fields of a parked parent are unknown, so the stored ones count as expected.
    const of = (ref: SourceRef): readonly Doc[] => (same(ref, into) ? children : letters.without(all(ref)));
    const differences: Candidate[] = [];
    for (const { raw, found, expected } of recomputeEmbeds([spec], of, pipeline.sources, () => (refused += 1))) {
      const fields = differing(expected, found);
      if (fields.length === 0 || letters.has(parkedIdentityOf(into.container, keyPaths, raw))) continue;
      const at = { projections: [projectionId(spec)], container: into.container, document: rowKey(found, keyPaths) };
      const evidence = digest([expected, raw['_etag']]);
      differences.push({ ...at, kind: 'different', fields, expected, found, evidence });
    }
    const own = counts ? children.filter((child) => counts(rowKey(child, keyPaths), into.container, child)) : children;
    const counted = { expected: own.length, refused, found: own.length };
    yield { id: projectionId(spec), ...counted, differences, parked: letters.documents };
  }
}

/** Compares stored rows with those that source documents give. */
export async function checkRows(
  { pipeline, model, state, statesOf }: Omit<OthersContext, 'documentsOf'>,
  spec: OutsideSpec,
  docs: readonly Doc[],
  stored: AsyncIterable<StoredRow>,
): Promise<OtherComparison> {
  let refused = 0;
  const { container } = spec.from;
  const keyPaths = keyPathsOf(model, container);
  const letters = await parkedOf(await statesOf(spec), projectionId(spec), [{ of: spec.from, docs, keyPaths }]);
  const parked = new Set(letters.documents.map(({ key, id }) => entryId(key, id)));
  const expected = recomputeRows(spec, letters.without(docs), pipeline.sources, {
    keyPaths,
    refused: () => (refused += 1),
  });
  const tenants = tenantsOf(spec, docs, { pipeline, model, keyPaths });
  const left = new Map(expected);
  const differences: Candidate[] = [];
  const report = (document: string, kind: Difference['kind'], fields: string[], more: Partial<Candidate>): void => {
    const evidence = digest([more.expected, more.found]);
    const at = { projections: [projectionId(spec)], container: spec.name, document };
    differences.push({ ...at, kind, fields, ...more, evidence });
  };
  let found = 0;
  for await (const one of stored) {
    const { id, row, version } = one;
    found += 1;
    const tenant = tenants?.(id, one.place?.tenant);
    // A document that moved may have rows that someone left with another tenant.
    const isThere = tenant?.tenant === tenants?.(id).tenant;
    const wanted = isThere ? left.get(id) : undefined;
    if (isThere) left.delete(id);
    if (parked.has(id)) continue;
    // The rows of tables say where they are, for a repair that has no document to go by.
    const place = 'place' in one && { place: one.place };
    const own = { row, ...(version !== undefined && { version }), ...place };
    if (wanted === undefined) report(id, 'unexpected', [], { found: own, ...tenant });
    else if (canonical(wanted) !== canonical(row))
      report(id, 'different', ['row'], { expected: { row: wanted }, found: own, ...tenant });
  }
  const from = expectedFrom((await readStarts(state, pipeline.name))?.[projectionId(spec)]);
  for (const doc of docs) {
    const who = Number(doc['_ts']) * 1_000 >= from ? undefined : parkedIdentityOf(container, keyPaths, doc);
    if (who) left.delete(entryId(who.key, who.id));
  }
  for (const [id, row] of left) report(id, 'missing', [], { expected: { row }, ...tenants?.(id) });
  const counted = { expected: expected.size, refused, found };
  return { id: projectionId(spec), ...counted, differences, parked: letters.documents };
}

export type StoredRow = Pick<TableRow, 'id' | 'row'> & Partial<Pick<TableRow, 'version' | 'place'>>;

/** Whose the rows of a table are: as the row states it, else by the source document. Undefined: rows name no tenant. */
function tenantsOf(
  spec: OutsideSpec,
  docs: readonly Doc[],
  { pipeline, model, keyPaths }: Pick<OthersContext, 'pipeline' | 'model'> & { readonly keyPaths: readonly string[] },
): ((id: string, stated?: unknown) => { tenant?: string }) | undefined {
  const rule = spec.kind === 'table' ? tenantRuleOf(pipeline, model, spec.from.container) : undefined;
  if (!rule) return undefined;
  const by = new Map<string, string>();
  for (const doc of docs) {
    const who = parkedIdentityOf(spec.from.container, keyPaths, doc);
    const value = doc[rule.field];
    if (who && typeof value === rule.kind) by.set(entryId(who.key, who.id), String(value));
  }
  return (id, stated) => {
    const tenant = stated === undefined || stated === null ? by.get(id) : textOf(stated);
    return tenant === undefined ? {} : { tenant };
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const differing = (a: Doc, b: Doc): string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].filter((field) => canonical(a[field]) !== canonical(b[field]));
