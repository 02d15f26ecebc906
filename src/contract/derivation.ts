// The fields that a row lists, against those that the code writes, and what each is derived from.
import type { Doc } from '../definition/specs.ts';
import { type Compared, type Said, pairsOf, unwritten } from './columns.ts';
import { writing } from './declared.ts';
import { type Trace, type Whole, depends, outputsOf } from './trace.ts';

const EVERYTHING = /\b(all|everything|same|whole|full|every)\b/i;

export function* derivation(of: Compared, spec: Whole, { runs }: Trace): Iterable<Said> {
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
  if (listed.length === 0 || listed.includes(undefined) || EVERYTHING.test(row.fieldsText)) return;
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
function dependsOn(spec: Whole, { source, joined }: Trace['runs'][number], to: string, from: string): boolean[] {
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
