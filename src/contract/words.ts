// G16: what a row of the section "Change Feed Projections" says in words, against what the code does.
import type { ProjectionRow } from '../model/documents.ts';
import { type Facts, didYouMean } from '../model/rules/facts.ts';
import { type Rule, type RuleResult, SOURCES, missing, noDesign } from '../model/rules/rule.ts';
import type { Doc, EmbedSpec } from '../definition/specs.ts';
import { type Contract, type Declared, writing } from './declared.ts';
import { SECTION } from './existence.ts';
import { filters } from './filters.ts';
import { measured } from './measured.ts';
import { events, stability, unlisted } from './promised.ts';
import { type Trace, type Whole, depends, isWhole, outputsOf, trace } from './trace.ts';

/** Single words that name no field, or one that no function writes. */
const EVERYTHING = /^(all|everything|same|whole|full|none|id|type|ttl)$/i;

export function words(contract: Contract): Rule[] {
  return [
    {
      id: 'G16',
      title: 'The code does what the projections section says',
      severity: 'error',
      source: SOURCES.ours,
      why: 'The rule reads the words of a row: `destination = origin`, `customer.name → customerName`, `cents = sum(quantity × priceCents)`, `top 3 days by cents`, `not cancelled`, `in status placed, paid`, `each line`, `waits for it`, `stable` behind a key mapping, `type orders.placed, version 1` of events. It runs the code’s functions on the source examples, and on examples in which one value is changed: a number to both sides of a limit, a status to each known one. It skips words of other forms.',
      hint: 'Correct the words or the code.',
      needs: [SECTION],
      *check(facts) {
        const { pipeline } = contract;
        if (!pipeline || !facts.design) {
          yield pipeline ? noDesign : missing('pipeline.ts');
          return;
        }
        for (const row of facts.rows) {
          const declared = contract.named(row.name);
          if (!declared) continue;
          yield* filters(facts, contract, row, declared);
          if (declared.spec.kind === 'embed') yield* embedded(facts, contract, row, declared, declared.spec);
          else if (isWhole(declared)) {
            const traced = trace(declared.spec, facts.design.model, pipeline);
            // The keys of reference data never change.
            if (declared.spec.kind !== 'reference') yield* stability(contract, row, declared);
            yield* mapped(contract, row, declared, traced);
            if (declared.spec.kind === 'aggregate')
              yield* measured(facts, contract, row, { declared, spec: declared.spec, pipeline });
            else {
              yield* written(contract, row, declared, traced);
              yield* unlisted(contract, row, declared, traced);
            }
          } else if (declared.spec.kind === 'publish') yield* events(facts, contract, row, declared, declared.spec);
        }
      },
    },
  ];
}

interface Pair {
  /** A field of the sink. */
  readonly to: string;
  /** A field of the source, or `join.field`. */
  readonly from: string;
}

const partsOf = (text: string): string[] =>
  text
    .replaceAll(/[`[\]]/g, '')
    .split(/[;,]/)
    .filter((part) => part.trim() !== '');

/** `destination = destination; id = id`: pairs of single names; other forms are skipped. */
function pairsOf(text: string): Pair[] {
  return partsOf(text).flatMap((part) => {
    const [, to, from] = /^\s*(?:\p{L}\w*\.)?([\p{L}_]\w*)\s*=\s*([\p{L}_][\w.]*)\s*$/u.exec(part) ?? [];
    return to === undefined || from === undefined ? [] : [{ to, from }];
  });
}

/** Each field of the sink depends on the field that the row derives it from. */
function* mapped(
  contract: Contract,
  row: ProjectionRow,
  declared: Declared & { spec: Whole },
  { runs }: Trace,
): Iterable<RuleResult> {
  const { spec } = declared;
  const keyed = spec.kind === 'copy' ? pairsOf(row.keyText) : [];
  for (const { to, from } of [...keyed, ...row.pairs]) {
    const known = runs.filter(({ output }) => to in output);
    const answers = known.flatMap(({ source, joined }) => {
      const make = (doc: Doc, others: typeof joined): unknown => outputsOf(spec, doc, others)[0]?.[to];
      const [alias = '', field] = from.split('.');
      const name = spec.kind === 'copy' && field !== undefined ? aliasOf(spec.joins, alias) : undefined;
      if (name !== undefined && field !== undefined) {
        const other = joined[name];
        return other ? [depends(other, field, (doc) => make(source, { ...joined, [name]: doc }))] : [];
      }
      const own = field !== undefined && [spec.from.type, spec.from.container].includes(alias) ? field : alias;
      return own in source ? [depends(source, own, (doc) => make(doc, joined))] : [];
    });
    if (answers.length > 0 && !answers.includes(true))
      yield {
        message: `${row.name} derives ${to} from ${from} in the document, but in the code ${to} doesn't depend on ${from}`,
        at: row.at,
        related: [contract.at(declared, to, writing(declared))],
      };
  }
}

/** A join by its name in the code, or by the type that it reads. */
const aliasOf = (joins: readonly { readonly name: string; readonly of: { readonly type: string } }[], alias: string) =>
  (joins.find(({ name }) => name === alias) ?? joins.find(({ of }) => of.type === alias))?.name;

/** Every single word among the fields is a field that the code writes. */
function* written(
  contract: Contract,
  row: ProjectionRow,
  declared: Declared & { spec: Whole },
  { runs }: Trace,
): Iterable<RuleResult> {
  const known = new Set(runs.flatMap(({ output }) => Object.keys(output)));
  if (known.size > 0) yield* unwritten(contract, row, declared, known);
}

function* unwritten(
  contract: Contract,
  row: ProjectionRow,
  declared: Declared,
  known: ReadonlySet<string>,
): Iterable<RuleResult> {
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

/** An embed's fields, and the fields by which it finds a child's parent. */
function* embedded(
  facts: Facts,
  contract: Contract,
  row: ProjectionRow,
  declared: Declared,
  spec: EmbedSpec,
): Iterable<RuleResult> {
  yield* unwritten(contract, row, declared, new Set(Object.keys(spec.set)));
  const pairs = pairsOf(row.keyText);
  if (pairs.length === 0 || pairs.length < partsOf(row.keyText).length) return;
  const on = [...Object.entries(spec.on), ...Object.entries(spec.each?.on ?? {})];
  // Both directions are written: the child's field first, or the parent's.
  const agrees = ({ to, from }: Pair, [theirs, ours]: readonly [string, string]): boolean =>
    (to === ours && from === theirs) || (to === theirs && from === ours);
  const more = pairs.filter((pair) => !on.some((one) => agrees(pair, one)));
  const less = on.filter((one) => !pairs.some((pair) => agrees(pair, one)));
  const stated = pairs.map(({ to, from }) => `${to} = ${from}`);
  const code = on.map(([theirs, ours]) => `${ours} = ${theirs}`);
  if (more.length + less.length > 0)
    yield {
      message: `${row.name} finds a parent by ${stated.join(', ')} in the document, but by ${code.join(', ')} in the code`,
      at: row.at,
      related: [contract.at(declared, spec.each ? 'onEach' : 'on')],
    };
}
