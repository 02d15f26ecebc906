import { isDeepStrictEqual } from 'node:util';
import { canonical, digest, isObject } from '../../base/json.ts';
import {
  type CopySpec,
  type Doc,
  type ProjectionSpec,
  type SourceRef,
  type SourceRules,
  projectionId,
} from '../../definition/specs.ts';
import { ownFields, recompute, rowKey } from '../../definition/oracle/recompute.ts';
import type { Identity, Key } from '../../feed/reading/change.ts';
import { PENDING } from '../../projections/copy/documents.ts';
import type { ContributionPart } from './contributions.ts';
import { type Derived, bound, tenantRef, within, wrongOwnFields } from './own-part.ts';
import { type Parked, identityOf } from './parked.ts';
import type { Candidate } from './difference.ts';

interface Expected {
  readonly row: Doc;
  readonly derived: Derived;
  /** It is parked, because its place is taken. */
  readonly held: boolean;
}

export interface LookContext {
  readonly letters: Parked;
  readonly rules: readonly SourceRules[];
  readonly keyPathsOf: (container: string) => readonly string[];
}

/** The documents of one sink type: what they must be by all projections that write them, and how they differ. */
export class SinkLook {
  readonly #container: string;
  readonly #keyPaths: readonly string[];
  readonly #expected = new Map<string, Expected>();
  readonly #waiting = new Map<string, Derived>();
  readonly #letters: { readonly letters: Parked; readonly spec: ProjectionSpec }[] = [];
  /** Groups that hold something of a parked document: an older version of it. */
  readonly #unsure = new Set<string>();
  readonly #parts: Candidate[] = [];
  readonly #pending: Candidate[] = [];

  constructor(container: string, keyPaths: readonly string[]) {
    this.#container = container;
    this.#keyPaths = keyPaths;
  }

  /** Works out what a projection's documents must be; returns how many, and how many of its sources it can't take. */
  expect(spec: ProjectionSpec, documentsOf: (of: SourceRef) => readonly Doc[], context: LookContext) {
    const { letters, rules, keyPathsOf } = context;
    const by = projectionId(spec);
    const who = (of: SourceRef, doc: Doc): Identity | undefined =>
      identityOf(of.container, keyPathsOf(of.container), doc);
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
      waiting: (key, source) => this.#waiting.set(key, { by, source: who(spec.from, source) }),
    });
    const occupied = spec.kind === 'aggregate' ? this.#groupsOf(spec, documentsOf, context) : undefined;
    for (const [key, row] of rows) {
      const derived = derivations.get(key) ?? { by };
      const held = occupied?.has(key) ?? letters.has(derived.source, 'occupied');
      this.#expected.set(key, { row, derived, held });
    }
    this.#letters.push({ letters, spec });
    return { expected: rows.size, refused };
  }

  /** What a group's contributions say of it. */
  contribution(part: ContributionPart): void {
    if ('unsure' in part) this.#unsure.add(part.unsure);
    else this.#parts.push(part);
  }

  /** `found`: what waits for a joined document, by its place. */
  waiting(spec: CopySpec, found: ReadonlyMap<string, Doc>): void {
    const by = projectionId(spec);
    const at = { projections: [by], container: this.#container, fields: [] };
    for (const [document, derived] of this.#waiting)
      if (derived.by === by && !found.has(document)) {
        const evidence = digest([document]);
        this.#pending.push({ ...at, kind: 'missing', document, expected: { type: PENDING }, evidence, derived });
      }
    for (const [document, doc] of found)
      if (!this.#waiting.has(document) && !this.#expected.has(document) && !this.#isParked(doc)) {
        const evidence = digest([document, doc['_etag']]);
        this.#pending.push({ ...at, kind: 'unexpected', document, found: { type: PENDING }, evidence });
      }
  }

  differences(actual: readonly Doc[], ids: readonly string[]): Candidate[] {
    const found = [...this.#compare(actual, ids)];
    const told = new Set(found.map(({ document }) => document));
    return [...found, ...this.#parts.filter(({ document }) => !told.has(document)), ...this.#pending];
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
        yield { ...at, projections: whose, kind: 'unexpected', fields: [], found, evidence: evidence() };
        continue;
      }
      const { row, derived, held } = wanted;
      const wrong = wrongOwnFields(derived, stored);
      const fields = [...differing(wanted, stored, found), ...wrong];
      // Whose it is can be said of what is parked, too; what it must hold can't.
      const lost = wrongOwnFields({ ...derived, group: undefined }, stored);
      if (fields.length === 0 || (lost.length === 0 && (held || this.#unsure.has(document)))) continue;
      const expected = wrong.length === 0 ? row : { ...row, ...ownPart(derived, wrong) };
      const is = { ...found, ...Object.fromEntries(wrong.map((field) => [field, stored[field]])) };
      const projections = [derived.by];
      yield { ...at, projections, kind: 'different', fields, expected, found: is, evidence: evidence(), derived };
    }
    for (const [document, { row, derived, held }] of left) {
      if (held || this.#unsure.has(document)) continue;
      const at = { container: this.#container, document, projections: [derived.by] };
      yield { ...at, kind: 'missing', fields: [], expected: row, evidence: digest([row]), derived };
    }
  }

  /** Whether a sink document was made of an older version of what is parked now. */
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

  /** The groups of documents that are parked because their place is taken. */
  #groupsOf(
    spec: ProjectionSpec,
    documentsOf: (of: SourceRef) => readonly Doc[],
    { letters, rules, keyPathsOf }: LookContext,
  ): ReadonlySet<string> {
    const keyPaths = keyPathsOf(spec.from.container);
    const parked = documentsOf(spec.from).filter((doc) =>
      letters.has(identityOf(spec.from.container, keyPaths, doc), 'occupied'),
    );
    const options = { keyPaths: this.#keyPaths, refused: () => undefined };
    return new Set(parked.length === 0 ? [] : recompute(spec, () => parked, rules, options).keys());
  }
}

/** Top-level fields that differ; a sum may differ by what its rounding explains. */
function differing({ row, derived: { group } }: Expected, stored: Doc, found: Doc): string[] {
  if (isDeepStrictEqual(row, found)) return [];
  const mr = isObject(stored['_mr']) ? stored['_mr'] : {};
  return [...new Set([...Object.keys(row), ...Object.keys(found)])].filter((field) => {
    if (canonical(row[field]) === canonical(found[field])) return false;
    const rounding = group?.rounding[field];
    if (group === undefined || rounding === undefined) return true;
    const off = bound(rounding, mr, field);
    // An average is off by its sum's part of it, and by its own division.
    const average = field in group.sums;
    const value = Math.abs(Number(row[field]));
    return !within(row[field], found[field], average && off > 0 ? off / group.rows + Number.EPSILON * value : off);
  });
}

/** As far as it is known what must be there. */
const ownPart = ({ by, source }: Derived, wrong: readonly string[]): Doc => ({
  ...(wrong.includes('_mr') && { _mr: { by } }),
  ...(wrong.includes('_src') && source && { _src: { pk: source.key, id: source.id } }),
});
