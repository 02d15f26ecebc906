// G15: the rows that the code makes from the source examples are those that the document shows.
import { canonical } from '../base/json.ts';
import type { DocumentType, Model } from '../model/model.ts';
import { containerOf, examplesOf } from '../model/model.ts';
import type { Facts } from '../model/rules/facts.ts';
import { type Rule, type RuleResult, missing, more, noDesign } from '../model/rules/rule.ts';
import { recompute, rowKey, visible } from '../pipeline/oracle/recompute.ts';
import type { Doc, Pipeline, ProjectionSpec } from '../pipeline/specs.ts';
import { attempt } from '../pipeline/fields/watched.ts';
import { type Contract, writing } from './declared.ts';
import { unmatched } from './embeds.ts';

/** How many rows a finding names. */
const NAMED = 3;

export function rows(contract: Contract): Rule[] {
  return [
    {
      id: 'G15',
      title: 'The code makes every derived example from the source examples, and no other row',
      why: 'A row that the code writes under another id or key than the document shows has no example to be compared with. So the rule looks for every derived example among the rows that the code makes. It names the nearest row and the fields that differ. It also names the rows that no example shows: a missing filter makes such rows.',
      hint: 'Correct the code or the example. If the source examples don’t make it, add their example or remove this one.',
      *check(facts) {
        const { pipeline } = contract;
        const model = facts.design?.model;
        if (!pipeline || !model) {
          yield pipeline ? noDesign : missing('pipeline.ts');
          return;
        }
        for (const specs of bySink(pipeline)) yield* ofSink(facts, contract, specs, model, pipeline);
        for (const declared of contract.declared)
          if (declared.spec.kind === 'embed') yield* unmatched(facts, contract, declared, declared.spec);
      },
    },
  ];
}

/** Projections that write one type, together: a row of it may come from each of them. */
const bySink = ({ projections }: Pipeline): ProjectionSpec[][] => [
  ...Map.groupBy(projections, ({ into }) => canonical([into.container, into.type])).values(),
];

/** The rows that a projection makes from the examples; undefined: its functions fail, which G2 reports. */
export function madeRows(spec: ProjectionSpec, model: Model, { sources }: Pipeline): Map<string, Doc> | undefined {
  const { partitionKey = [] } = containerOf(model, spec.into.container) ?? {};
  const options = { keyPaths: partitionKey, refused: () => undefined };
  return attempt(() => recompute(spec, (of) => examplesOf(model, of), sources, options));
}

function* ofSink(
  facts: Facts,
  contract: Contract,
  specs: readonly ProjectionSpec[],
  model: Model,
  pipeline: Pipeline,
): Iterable<RuleResult> {
  const [spec] = specs;
  const container = spec && containerOf(model, spec.into.container);
  const type = spec && facts.type(spec.into);
  const declared = spec && contract.named(spec.name);
  const sources = specs.some(({ from }) => examplesOf(model, from).length > 0);
  if (!spec || !container || !type || !declared || !sources) return;
  const made = new Map<string, Doc>();
  for (const one of specs) {
    const own = madeRows(one, model, pipeline);
    if (!own) return;
    for (const [key, row] of own) made.set(key, row);
  }
  const stated = new Map(examplesOf(model, spec.into).map((of) => [rowKey(of, container.partitionKey), of]));
  const others = new Map([...made].filter(([key]) => !stated.has(key)));
  const names = [...new Set(specs.map(({ name }) => name))].join(', ');
  const lacking = [...stated].flatMap(([key, example]) => {
    if (made.has(key)) return [];
    const near = nearest(visible(example), others);
    if (near) others.delete(near.key);
    return [{ example, near, at: facts.example(example, type.at) }];
  });
  // One fault of the code moves many rows.
  for (const [, same] of Map.groupBy(lacking, ({ near }) => near?.fields.join(' '))) {
    const [first, ...rest] = same;
    if (!first) continue;
    const near =
      first.near &&
      `; the nearest row that it makes ${rest.length > 0 ? 'for the first ' : ''}has ${first.near.differs}`;
    yield {
      message: `From the source’s examples ${names} makes no ${spec.into.type} ${String(first.example['id'])}${more(rest.length)}${near ?? ''}`,
      at: first.at,
      words: `"${first.near?.field ?? 'id'}"`,
      related: [...rest.map(({ at }) => at), contract.at(declared, first.near?.field, writing(declared))],
    };
  }
  if (others.size > 0) yield surplus(names, [...others.values()], made.size, type, contract.at(declared, 'where'));
}

/** A document that shows most of the rows means to show them all. */
function surplus(
  names: string,
  others: readonly Doc[],
  made: number,
  { name, at }: DocumentType,
  code: DocumentType['at'],
): RuleResult {
  const shown = others.slice(0, NAMED);
  return {
    severity: others.length * 2 <= made ? 'warning' : 'information',
    message: `From the source’s examples ${names} also makes ${name} ${shown.map((row) => String(row['id'])).join(', ')}${more(others.length - shown.length)}, which no example shows`,
    at,
    related: [code],
    hint: 'Add the example. If the row must not exist, correct the filter in the code.',
  };
}

/** The row that agrees in most fields, at least in half of them, and the fields that differ. */
function nearest(
  example: Doc,
  others: ReadonlyMap<string, Doc>,
):
  | { readonly key: string; readonly field: string; readonly fields: readonly string[]; readonly differs: string }
  | undefined {
  const ranked = [...others]
    .map(([key, row]) => ({ key, row, odd: differing(example, row) }))
    .toSorted((a, b) => a.odd.length - b.odd.length);
  const [best] = ranked;
  const [field] = best?.odd ?? [];
  if (!best || field === undefined || best.odd.length * 2 > Object.keys(example).length) return undefined;
  const differs = best.odd
    .slice(0, NAMED)
    .map((name) => `${name} ${canonical(best.row[name] ?? null)}, not ${canonical(example[name] ?? null)}`);
  return { key: best.key, field, fields: best.odd, differs: differs.join('; ') };
}

export const differing = (one: Doc, other: Doc): string[] =>
  [...new Set([...Object.keys(one), ...Object.keys(other)])].filter(
    (field) => canonical(one[field] ?? null) !== canonical(other[field] ?? null),
  );
