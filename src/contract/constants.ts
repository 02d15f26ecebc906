// G18: a field that has a namesake in its source is copied from it.
import { canonical } from '../base/json.ts';
import { type Model, examplesOf } from '../model/model.ts';
import { type Rule, type RuleResult, noDesign } from '../model/rules/rule.ts';
import type { CopySpec, Doc, EmbedSpec, Pipeline, ReferenceSpec } from '../pipeline/specs.ts';
import { attempt } from '../pipeline/fields/watched.ts';
import { type Contract, type Declared, writing } from './declared.ts';
import { noPipeline } from './same-projections.ts';
import { depends, outputsOf, traceFunctions } from './trace.ts';

/** What a document can't be without, and what a type's name says. */
const OWN: ReadonlySet<string> = new Set(['id', 'type', 'ttl']);

export function constants(contract: Contract): Rule[] {
  return [
    {
      id: 'G18',
      title: 'A field is copied from the field of its source, and isn’t one value for all',
      severity: 'warning',
      why: 'If all stores of the examples have the currency EUR, a function that returns `’EUR’` gives the same documents as one that returns the store’s currency, and no example shows the difference. The first store with CHF does. The rule runs the functions of copies, reference data and embeds on the examples with each field changed. It fails if a field of the result has the value of its namesake in the source, and depends on no field. A field by which a condition selects may be written as a constant.',
      hint: 'Copy the field: `currency: (store) => store.currency`. If the value is meant to be the same for all, give the field another name.',
      *check(facts) {
        const { pipeline } = contract;
        if (!pipeline || !facts.design) {
          yield pipeline ? noDesign : noPipeline;
          return;
        }
        const { model } = facts.design;
        for (const declared of contract.declared) {
          const { spec } = declared;
          if (spec.kind === 'copy' || spec.kind === 'reference')
            yield* told(contract, declared, constantsOf(spec, model, pipeline));
          else if (spec.kind === 'embed') yield* told(contract, declared, constantSets(spec, model));
        }
      },
    },
  ];
}

function* told(contract: Contract, declared: Declared, fields: readonly string[]): Iterable<RuleResult> {
  for (const field of fields)
    yield {
      message: `${declared.name} writes one value of ${field} for all documents, though ${declared.from?.type ?? 'its source'} has the field ${field}`,
      at: contract.at(declared, field, writing(declared)),
      words: field,
    };
}

/** Whether the result depends on a field of one of the documents. */
const dependsOnAny = (docs: readonly Doc[], result: (docs: readonly Doc[]) => unknown): boolean =>
  docs.some((doc, index) =>
    Object.keys(doc).some((field) => depends(doc, field, (changed) => result(docs.with(index, changed)))),
  );

function constantsOf(spec: CopySpec | ReferenceSpec, model: Model, pipeline: Pipeline): string[] {
  const { runs } = traceFunctions(spec, model, pipeline);
  const fields = new Set(runs.flatMap(({ source, output }) => Object.keys(output).filter((field) => field in source)));
  return [...fields].filter((field) => {
    if (OWN.has(field)) return false;
    return runs.every(({ source, joined, output }) => {
      if (canonical(output[field]) !== canonical(source[field])) return false;
      if (spec.where && depends(source, field, (doc) => spec.where?.(doc))) return false;
      const names = Object.keys(joined);
      const of = ([doc = {}, ...others]: readonly Doc[]): unknown =>
        outputsOf(
          spec,
          doc,
          Object.fromEntries(names.map((name, index) => [name, joined[name] ? (others[index] ?? null) : null])),
        )[0]?.[field];
      return !dependsOnAny([source, ...names.map((name) => joined[name] ?? {})], of);
    });
  });
}

function constantSets(spec: EmbedSpec, model: Model): string[] {
  const [parents, children] = [examplesOf(model, spec.from), examplesOf(model, spec.into)];
  const items = children.flatMap((child) => (spec.each ? ((child[spec.each.field] ?? []) as Doc[]) : [child]));
  const [item] = items;
  if (!item) return [];
  return Object.entries(spec.set).flatMap(([field, set]) => {
    const namesakes = parents.filter((parent) => field in parent);
    const constant = namesakes.every((parent) => {
      if (attempt(() => set(parent, item)) === undefined) return false;
      return !dependsOnAny([parent, item], ([one = {}, other = {}]) => set(one, other));
    });
    // A value that no namesake has is something else: whether a name is long.
    const isCopied = namesakes.some(
      (parent) => canonical(attempt(() => set(parent, item)) ?? null) === canonical(parent[field]),
    );
    return constant && isCopied ? [field] : [];
  });
}
