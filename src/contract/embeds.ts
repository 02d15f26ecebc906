// G2 for embeds: compares the fields that they write with the examples of the child.
import { canonical, isObject } from '../base/json.ts';
import type { Facts } from '../model/rules/facts.ts';
import type { RuleResult } from '../model/rules/rule.ts';
import { attempt } from '../pipeline/fields/watched.ts';
import { typeRules } from '../pipeline/discriminator.ts';
import type { Doc, EmbedSpec, Pipeline } from '../pipeline/specs.ts';
import { type Model, examplesOf } from '../model/model.ts';
import type { Contract, Declared } from './declared.ts';
import { jsonTypes } from './trace.ts';

export function* embeddedFields(
  facts: Facts,
  contract: Contract,
  declared: Declared,
  spec: EmbedSpec,
): Iterable<RuleResult> {
  const model = facts.design?.model;
  if (!model || !contract.pipeline) return;
  const children = examplesOf(model, spec.into);
  const items = children.flatMap((child) => itemsOf(spec, child));
  if (spec.each && children.length > 0 && !children.some((child) => Array.isArray(child[spec.each?.field ?? '']))) {
    yield {
      message: `${declared.name} embeds into each of ${spec.each.field}, which is a list in no example of ${spec.into.container} (${spec.into.type})`,
      at: contract.at(declared, 'each'),
    };
    return;
  }
  const written = allKept(spec, model, contract.pipeline);
  for (const [field, set] of Object.entries(spec.set)) {
    const at = contract.at(declared, field, 'set');
    const existing = items.map((item) => item[field]);
    if (items.length > 0 && existing.every((value) => value === undefined)) {
      yield {
        message: `${declared.name} embeds ${field}, which no example of ${spec.into.container} (${spec.into.type}) has`,
        at,
      };
      continue;
    }
    const made = examplesOf(model, spec.from).flatMap((parent) => items.map((item) => valueOf(set, parent, item)));
    const [ours, theirs] = [jsonTypes(made), jsonTypes(existing)];
    if (ours.size > 0 && theirs.size > 0 && [...ours].some((type) => !theirs.has(type)))
      yield {
        message: `${declared.name} embeds ${field} as ${[...ours].join(' or ')}, but the examples have ${[...theirs].join(' or ')}`,
        at,
      };
    for (const { parent, stated, child, item } of written) {
      const [is, should] = [item[field], valueOf(set, parent, item)];
      if (canonical(is ?? null) === canonical(should ?? null)) continue;
      const from = String(parent['id']);
      yield {
        message: `${declared.name} embeds ${field} ${JSON.stringify(should ?? null)} of ${spec.from.type} ${from}, but ${spec.into.type} ${String(child['id'])} has ${JSON.stringify(is ?? null)}`,
        at: facts.example(child, facts.type(spec.into)?.at ?? at),
        related: [facts.example(stated, facts.type(spec.from)?.at ?? at), at],
      };
    }
  }
}

/** G15: no example of a child has a parent, though some show an embedded field. */
export function* unmatched(
  facts: Facts,
  contract: Contract,
  declared: Declared,
  spec: EmbedSpec,
): Iterable<RuleResult> {
  const model = facts.design?.model;
  const { pipeline } = contract;
  if (!model || !pipeline || examplesOf(model, spec.from).length === 0 || allKept(spec, model, pipeline).length > 0)
    return;
  for (const field of Object.keys(spec.set)) {
    const child = examplesOf(model, spec.into).find((of) =>
      itemsOf(spec, of).some((item) => item[field] !== undefined),
    );
    if (child)
      yield {
        message: `${spec.into.type} ${String(child['id'])} shows ${field}, but ${declared.name} finds no example of ${spec.from.type} for any example of ${spec.into.type}`,
        at: facts.example(child, facts.type(spec.into)?.at ?? declared.at),
        related: [contract.at(declared, spec.each ? 'onEach' : 'on')],
        hint: 'Correct the fields by which the code joins. Or add an example of the parent.',
      };
  }
}

const valueOf = (set: EmbedSpec['set'][string], parent: Doc, item: Doc): unknown => attempt(() => set(parent, item));

function itemsOf({ each }: EmbedSpec, child: Doc): Doc[] {
  const list: unknown = each ? child[each.field] : [child];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** A child's example (or an element of its list) that the embed writes, and the matching example of the parent. */
interface Kept {
  /** The parent after `upcast`. */
  readonly parent: Doc;
  /** The parent as it is in the document. */
  readonly stated: Doc;
  readonly child: Doc;
  readonly item: Doc;
}

function* kept(spec: EmbedSpec, model: Model, pipeline: Pipeline): Generator<Kept> {
  const [ofParent, ofChild] = [typeRules(pipeline.sources, spec.from), typeRules(pipeline.sources, spec.into)];
  const [own, each] = [Object.entries(spec.on), Object.entries(spec.each?.on ?? {})];
  const theirs = [...own, ...each].map(([field]) => field);
  const parents = examplesOf(model, spec.from).map((stored) => [stored, ofParent.upcast?.(stored) ?? stored] as const);
  for (const child of examplesOf(model, spec.into)) {
    if (ofChild.deleted?.(child)) continue;
    for (const item of itemsOf(spec, child)) {
      if (spec.when?.(item, child) === false) continue;
      const key = canonical([...own.map(([, ours]) => child[ours]), ...each.map(([, ours]) => item[ours])]);
      const match = parents.find(([, parent]) => canonical(theirs.map((field) => parent[field])) === key);
      if (match && !(ofParent.deleted?.(match[1]) && spec.onDelete === 'remove'))
        yield { parent: match[1], stated: match[0], child, item };
    }
  }
}

/** Empty if a function fails on an example: another rule reports that. */
function allKept(spec: EmbedSpec, model: Model, pipeline: Pipeline): Kept[] {
  return attempt(() => [...kept(spec, model, pipeline)]) ?? [];
}
