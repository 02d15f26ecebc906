// The fields that a row lists, against those that the code writes, and what each is derived from.
import type { Doc, ProjectionSpec } from '../pipeline/specs.ts';
import { didYouMean } from '../base/near.ts';
import { type Compared, type Said, writing } from './declared.ts';
import { type Trace, depends, outputsOf } from './trace.ts';

/** Single words that name no field, or one that no function writes. */
const EVERYTHING = /^(all|everything|same|whole|full|none|id|type|ttl)$/i;

/** Every single word among the fields is a field that the code writes. */
export function* unwritten({ contract, row, declared }: Compared, known: ReadonlySet<string>): Iterable<Said> {
  for (const part of row.fieldsText.replaceAll('`', '').split(/[;,]/)) {
    const field = /^[\p{L}_]\w*$/u.exec(part.trim())?.[0];
    if (field !== undefined && !known.has(field) && !EVERYTHING.test(field))
      yield {
        message: `${row.name} has the field ${field} in the document, but the code doesn't write it`,
        at: row.at,
        related: [contract.at(declared, writing(declared))],
        hint: didYouMean(field, [...known]),
      };
  }
}

/** A field of the sink, and the field of the source, or `join.field`, that it is from. */
export interface DerivedPair {
  readonly to: string;
  readonly from: string;
}

export const derivationPartsOf = (text: string): string[] =>
  text
    .replaceAll(/[`[\]]/g, '')
    .split(/[;,]/)
    .filter((part) => part.trim() !== '');

/** `destination = destination; id = id`: pairs of single names; other forms are skipped. */
export function pairsOf(text: string): DerivedPair[] {
  return derivationPartsOf(text).flatMap((part) => {
    const [, to, from] = /^\s*(?:\p{L}\w*\.)?([\p{L}_]\w*)\s*=\s*([\p{L}_][\w.]*)\s*$/u.exec(part) ?? [];
    return to === undefined || from === undefined ? [] : [{ to, from }];
  });
}

/** The row doesn't list every field. */
const ALL = /\b(all|everything|same|whole|full|every)\b/i;

export function* derivation(of: Compared, spec: ProjectionSpec, { runs }: Trace): Iterable<Said> {
  const { contract, row, declared } = of;
  const keyed = spec.kind === 'copy' ? pairsOf(row.keyText) : [];
  for (const { to, from } of [...keyed, ...row.pairs]) {
    const answers = runs.flatMap((run) => (to in run.output ? dependsOn(spec, run, to, from) : []));
    if (answers.length > 0 && !answers.includes(true))
      yield {
        message: `${row.name} derives ${to} from ${from} in the document, but in the code ${to} doesn't depend on ${from}`,
        at: row.at,
        related: [contract.at(declared, to, writing(declared))],
      };
  }
  const written = new Set(runs.flatMap(({ output }) => Object.keys(output)));
  if (spec.kind === 'aggregate' || written.size === 0) return;
  yield* unwritten(of, written);
  const parts = row.fieldsText
    .replaceAll('`', '')
    .split(/[;,]/)
    .filter((part) => part.trim() !== '');
  const listed = parts.map((part) => /^\s*(?:[\p{L}_][\w.]*\s*(?:→|->|=>)\s*)?([\p{L}_]\w*)\s*$/u.exec(part)?.[1]);
  if (listed.length === 0 || listed.includes(undefined) || ALL.test(row.fieldsText)) return;
  const known = new Set([...listed, ...row.keys, 'id', 'type', 'ttl']);
  const more = [...written].filter((field) => !known.has(field));
  if (more.length > 0)
    yield {
      severity: 'warning',
      message: `${row.name} writes ${more.join(', ')} in the code, but the document's list of its fields doesn't have ${more.length === 1 ? 'it' : 'them'}`,
      at: row.at,
      related: [contract.at(declared, more[0], writing(declared))],
    };
}

/** Whether a field of the sink depends on `field` or `join.field`; empty: the example doesn't have it. */
function dependsOn(
  spec: ProjectionSpec,
  { source, joined }: Trace['runs'][number],
  to: string,
  from: string,
): boolean[] {
  const make = (doc: Doc, others: typeof joined): unknown => outputsOf(spec, doc, others)[0]?.[to];
  const [alias = '', field] = from.split('.');
  const joins = spec.kind === 'copy' && field !== undefined ? spec.joins : [];
  // A join by its name in the code, or by the type that it reads.
  const name = (joins.find((one) => one.name === alias) ?? joins.find(({ of }) => of.type === alias))?.name;
  if (name !== undefined && field !== undefined) {
    const other = joined[name];
    return other ? [depends(other, field, (doc) => make(source, { ...joined, [name]: doc }))] : [];
  }
  const own = field !== undefined && [spec.from.type, spec.from.container].includes(alias) ? field : alias;
  return own in source ? [depends(source, own, (doc) => make(doc, joined))] : [];
}
