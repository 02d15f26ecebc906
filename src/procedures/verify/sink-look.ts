import { isDeepStrictEqual } from 'node:util';
import { canonical, digest, isObject } from '../../base/json.ts';
import {
  type CopySpec,
  type Doc,
  type ProjectionSpec,
  type SourceRef,
  type SourceRules,
  hasLocator,
  projectionId,
} from '../../pipeline/specs.ts';
import { ownFields, recompute, rowKey } from '../../pipeline/oracle/recompute.ts';
import type { Identity, Key } from '../../feed/reading/change.ts';
import type { Counts } from './asked-part.ts';
import type { ContributionPart } from './contributions.ts';
import { type Derived, bound, tenantRef, withinOwnPart, wrongOwnFields } from './own-part.ts';
import { type ParkedDocuments, identityText, parkedIdentityOf } from './parked.ts';
import { type Candidate, notStable } from './difference.ts';

interface Expected {
  readonly row: Doc;
  readonly derived: Derived;
  /** It is parked because another document has its place. */
  readonly occupied: boolean;
}

export interface LookContext {
  readonly letters: ParkedDocuments;
  readonly rules: readonly SourceRules[];
  readonly keyPathsOf: (container: string) => readonly string[];
  /** Whether the document at a place is compared. Default: every one. */
  readonly only?: (place: string) => boolean;
  /** Whether a document is counted. Default: every one. */
  readonly counts?: Counts | undefined;
}

/** Compares the documents of one sink type with those that all projections that write it must produce. */
export class SinkLook {
  readonly #container: string;
  readonly #keyPaths: readonly string[];
  readonly #expected = new Map<string, Expected>();
  readonly #waiting: Derived[] = [];
  readonly #letters: { readonly letters: ParkedDocuments; readonly spec: ProjectionSpec }[] = [];
  /** Groups that contain an older version of a parked document. */
  readonly #unsure = new Set<string>();
  /** The source documents of `stable` copies, by projection. */
  readonly #stable = new Map<string, Set<string>>();
  readonly #parts: Candidate[] = [];
  readonly #pending: Candidate[] = [];

  constructor(container: string, keyPaths: readonly string[]) {
    this.#container = container;
    this.#keyPaths = keyPaths;
  }

  /** Recomputes a projection's documents; returns their number, and the number of sources that it refused. */
  expect(spec: ProjectionSpec, documentsOf: (of: SourceRef) => readonly Doc[], context: LookContext) {
    const { letters, rules, keyPathsOf, only, counts } = context;
    const by = projectionId(spec);
    const who = (of: SourceRef, doc: Doc): Identity | undefined =>
      parkedIdentityOf(of.container, keyPathsOf(of.container), doc);
    let refused = 0;
    const derivations = new Map<string, Derived>();
    const rows = recompute(spec, documentsOf, rules, {
      keyPaths: this.#keyPaths,
      refused: () => (refused += 1),
      derived: (key, { source, tenant, group }) => {
        const copied = spec.kind === 'aggregate' ? undefined : who(spec.from, source);
        const whose = spec.kind === 'reference' && tenant ? who(spec.tenants, tenant) : undefined;
        derivations.set(key, { by, source: copied, tenant: whose, group });
      },
      waiting: (source) => this.#waiting.push({ by, source: who(spec.from, source), waits: true }),
    });
    if (spec.kind === 'copy' && !hasLocator(spec))
      this.#stable.set(
        by,
        new Set([...derivations.values()].map(({ source }) => canonical([...(source?.key ?? []), source?.id]))),
      );
    const groups = spec.kind === 'aggregate' ? this.#groupsOf(spec, documentsOf, context) : undefined;
    for (const [key, row] of rows) {
      if (only?.(key) === false) continue;
      const derived = derivations.get(key) ?? { by };
      const occupied = groups?.has(key) ?? letters.has(derived.source, 'occupied');
      this.#expected.set(key, { row, derived, occupied });
    }
    this.#letters.push({ letters, spec });
    const counted = counts ? [...rows].filter(([key, row]) => counts(key, this.#container, row)).length : rows.size;
    return { expected: counted, refused };
  }

  /** The places of the expected documents: their key values and id. */
  places(): string[] {
    return [...this.#expected.keys()];
  }

  /** Adds the result of comparing a group's contributions. */
  contribution(part: ContributionPart): void {
    if ('unsure' in part) this.#unsure.add(part.unsure);
    else this.#parts.push(part);
  }

  /** `found`: the source documents whose locator says that they wait for a joined document, by `identityText`. */
  waiting(spec: CopySpec, found: ReadonlySet<string>): void {
    const by = projectionId(spec);
    for (const derived of this.#waiting) {
      const { source } = derived;
      if (derived.by !== by || !source || found.has(identityText(source))) continue;
      const document = canonical([...source.key, source.id]);
      const at = { projections: [by], container: source.container, document, fields: [] };
      const expected = { type: 'millrace.locator', waits: true };
      this.#pending.push({ ...at, kind: 'missing', expected, evidence: digest([source]), derived });
    }
  }

  differences(actual: readonly Doc[], ids: readonly string[]): Candidate[] {
    const whys = new Map(this.#parts.map(({ document, why }) => [document, why]));
    const found = [...this.#compare(actual, ids)].map((of) => {
      const why = of.why ?? whys.get(of.document);
      return why === undefined ? of : { ...of, why };
    });
    const reported = new Set(found.map(({ document }) => document));
    return [...found, ...this.#parts.filter(({ document }) => !reported.has(document)), ...this.#pending];
  }

  *#compare(actual: readonly Doc[], ids: readonly string[]): Generator<Candidate> {
    const left = new Map(this.#expected);
    for (const stored of actual) {
      const document = rowKey(stored, this.#keyPaths);
      const found = ownFields(stored);
      const wanted = left.get(document);
      left.delete(document);
      const evidence = (): string => digest([wanted?.row, stored['_etag']]);
      const at = { container: this.#container, document };
      if (!wanted) {
        if (this.#unsure.has(document) || this.#isParked(stored)) continue;
        const by = isObject(stored['_mr']) ? stored['_mr']['by'] : undefined;
        const projections = ids.filter((id) => id === by);
        const whose = projections.length > 0 ? projections : ids;
        const source = isObject(stored['_src'])
          ? canonical([...(stored['_src']['pk'] as Key), stored['_src']['id']])
          : '';
        const why = this.#stable.get(String(by))?.has(source) ? { why: notStable(String(by), source) } : {};
        yield { ...at, ...why, projections: whose, kind: 'unexpected', fields: [], found, evidence: evidence() };
        continue;
      }
      const { row, derived, occupied } = wanted;
      const wrong = wrongOwnFields(derived, stored);
      const fields = [...differing(wanted, stored, found), ...wrong];
      // For a parked document only the owner of the sink document is known, not its content.
      const lost = wrongOwnFields({ ...derived, group: undefined }, stored);
      if (fields.length === 0 || (lost.length === 0 && (occupied || this.#unsure.has(document)))) continue;
      const expected = wrong.length === 0 ? row : { ...row, ...ownPart(derived, wrong) };
      const is = { ...found, ...Object.fromEntries(wrong.map((field) => [field, stored[field]])) };
      const projections = [derived.by];
      yield { ...at, projections, kind: 'different', fields, expected, found: is, evidence: evidence(), derived };
    }
    for (const [document, { row, derived, occupied }] of left) {
      if (occupied || this.#unsure.has(document)) continue;
      const at = { container: this.#container, document, projections: [derived.by] };
      yield { ...at, kind: 'missing', fields: [], expected: row, evidence: digest([row]), derived };
    }
  }

  /** Whether a sink document comes from an older version of a document that is parked now. */
  #isParked(stored: Doc): boolean {
    const [src, mr] = [stored['_src'], isObject(stored['_mr']) ? stored['_mr'] : {}];
    return this.#letters.some(({ letters, spec }) => {
      if (spec.kind === 'aggregate' || !isObject(src) || mr['by'] !== projectionId(spec)) return false;
      const source = { container: spec.from.container, key: src['pk'] as Key, id: String(src['id']) };
      if (letters.has(source)) return true;
      const use = isObject(mr['tenant']) ? mr['tenant']['ref'] : undefined;
      return spec.kind === 'reference' && letters.documents.some((parked) => tenantRef(parked) === use);
    });
  }

  /** The groups of documents that are parked because another document has their place. */
  #groupsOf(
    spec: ProjectionSpec,
    documentsOf: (of: SourceRef) => readonly Doc[],
    { letters, rules, keyPathsOf }: LookContext,
  ): ReadonlySet<string> {
    const keyPaths = keyPathsOf(spec.from.container);
    const parked = documentsOf(spec.from).filter((doc) =>
      letters.has(parkedIdentityOf(spec.from.container, keyPaths, doc), 'occupied'),
    );
    const options = { keyPaths: this.#keyPaths, refused: () => undefined };
    return new Set(parked.length === 0 ? [] : recompute(spec, () => parked, rules, options).keys());
  }
}

/** Top-level fields that differ; a sum may differ by its rounding. */
export function differing(
  { row, derived: { group } }: Pick<Expected, 'row'> & { readonly derived: Pick<Derived, 'group'> },
  stored: Doc,
  found: Doc,
): string[] {
  if (isDeepStrictEqual(row, found)) return [];
  const mr = isObject(stored['_mr']) ? stored['_mr'] : {};
  return [...new Set([...Object.keys(row), ...Object.keys(found)])].filter((field) => {
    if (canonical(row[field]) === canonical(found[field])) return false;
    const rounding = group?.rounding[field];
    if (group === undefined || rounding === undefined) return true;
    const off = bound(rounding, mr, field);
    // An average differs by its share of the sum's rounding, and by the rounding of the division.
    const average = field in group.sums;
    const value = Math.abs(Number(row[field]));
    return !withinOwnPart(
      row[field],
      found[field],
      average && off > 0 ? off / group.rows + Number.EPSILON * value : off,
    );
  });
}

/** The expected own fields, as far as they are known. */
const ownPart = ({ by, source }: Derived, wrong: readonly string[]): Doc => ({
  ...(wrong.includes('_mr') && { _mr: { by } }),
  ...(wrong.includes('_src') && source && { _src: { pk: source.key, id: source.id } }),
});
