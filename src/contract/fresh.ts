// The second part of G2: fields listed under Denormalization, and copies that no projection keeps fresh.
import { isObject } from '../base/json.ts';
import type { Prose } from '../model/documents.ts';
import { type Facts, didYouMean, fieldsIn } from '../model/rules/facts.ts';
import { type RuleResult, missing } from '../model/rules/rule.ts';
import type { Pipeline } from '../definition/specs.ts';
import { near } from '../base/near.ts';
import type { Contract } from './declared.ts';
import { type Whole, depends, trace } from './trace.ts';

const SNAPSHOT =
  /as sold|snapshot|record of|nothing refreshes|never (refreshed|changes?)|at the time|immutable|as it was|not refreshed|frozen|as of the/i;

const denormalization = (facts: Facts): Prose[] =>
  facts.prose.filter(({ label }) => /denormali[sz]|反规范化/i.test(label ?? ''));

/** Copied fields of joined documents must be listed under Denormalization, and listed fields must be kept fresh. */
export function* listed(facts: Facts, contract: Contract): Iterable<RuleResult> {
  const pieces = denormalization(facts);
  const design = pieces.filter(({ at }) => at.file === facts.design?.file);
  const model = facts.design?.model;
  if (!model) return;
  if (design.length === 0) {
    yield missing('a bullet Denormalization');
    return;
  }
  const text = design.map((piece) => piece.text).join(' ');
  for (const declared of contract.declared) {
    const { spec } = declared;
    if (spec.kind !== 'copy' || spec.joins.length === 0 || !contract.pipeline) continue;
    const row = facts.rows.find(({ name }) => name === declared.name);
    for (const field of joinedFields(spec, model, contract.pipeline)) {
      if (!new RegExp(String.raw`\b${field}\b`).test(text))
        yield {
          severity: 'warning',
          message: `${declared.name} copies ${field} from a joined document, but Denormalization doesn't list it`,
          at: design[0]?.at ?? declared.at,
          related: [row?.at ?? declared.at],
        };
    }
  }
  for (const { text: piece, at } of design) {
    for (const match of piece.matchAll(/\b([A-Za-z_][\w-]*)\.([A-Za-z_]\w*)\b/g)) {
      const detail = facts.detail(match[1]);
      if (!detail) {
        const best = near(
          match[1] ?? '',
          facts.containers.map(({ container }) => container.name),
        );
        if (best !== undefined)
          yield {
            severity: 'warning',
            message: `Denormalization names ${match[0]}, but there is no container ${match[1] ?? ''}`,
            at,
            hint: `Did you mean ${best}?`,
          };
        continue;
      }
      const known = fieldsIn(detail.container);
      const field = match[2] ?? '';
      if (known.size > 0 && !known.has(field))
        yield {
          message: `Denormalization names ${match[0]}, which no example has`,
          at,
          hint: didYouMean(field, [...known]),
          related: [detail.container.at],
        };
      const copied = /\b(to|in|into|as|到)\W{0,3}$/i.test(piece.slice(0, match.index));
      if (copied && known.has(field) && !keptFresh(facts, contract, detail.container.name))
        yield {
          message: `${match[0]} is a copy, but no projection keeps it fresh`,
          at,
          related: [detail.container.at],
        };
    }
  }
}

const keptFresh = (facts: Facts, contract: Contract, container: string): boolean =>
  contract.pipeline
    ? contract.declared.some(({ into }) => into?.container === container)
    : facts.rows.some(({ sink }) => sink?.container.toLowerCase() === container.toLowerCase());

/** Sink fields whose value changes with a joined document. */
function joinedFields(
  spec: Extract<Whole, { kind: 'copy' }>,
  model: Parameters<typeof trace>[1],
  pipeline: Pipeline,
): string[] {
  const found = new Set<string>();
  for (const { source, joined, output } of trace(spec, model, pipeline).runs) {
    for (const [name, doc] of Object.entries(joined)) {
      if (!doc) continue;
      for (const field of Object.keys(doc)) {
        for (const target of Object.keys(output)) {
          if (depends(doc, field, (changed) => spec.map(source, { ...joined, [name]: changed })[target] ?? null))
            found.add(target);
        }
      }
    }
  }
  return [...found];
}

/** A field such as `customerName`, with a type `customer` that has a `name`: by its name a copy, so it must be kept fresh. */
export function* stale(facts: Facts, contract: Contract): Iterable<RuleResult> {
  const types = facts.containers.flatMap(({ container, derived }) =>
    container.types.map((type) => ({ container, type, derived })),
  );
  const copied = (name: string) =>
    types.find(
      ({ type }) =>
        name.toLowerCase().startsWith(type.name.toLowerCase()) &&
        type.examples.some((example) =>
          Object.keys(example).some(
            (field) => field !== 'id' && `${type.name}${field.charAt(0).toUpperCase()}${field.slice(1)}` === name,
          ),
        ),
    );
  for (const { container, type } of types) {
    if (keptFresh(facts, contract, container.name)) continue;
    const inside = type.examples.flatMap((example) => [
      ...Object.keys(example),
      ...Object.values(example).flatMap((value) =>
        Array.isArray(value) ? value.filter(isObject).flatMap(Object.keys) : [],
      ),
    ]);
    for (const field of new Set(inside)) {
      const origin = copied(field);
      if (!origin || origin.type === type) continue;
      const snapshot = facts.prose.some(
        ({ text, label }) => new RegExp(String.raw`\b${field}\b`).test(text) && SNAPSHOT.test(`${label ?? ''} ${text}`),
      );
      if (!snapshot)
        yield {
          message: `${container.name} (${type.name}) holds ${field}, a copy of ${origin.container.name} (${origin.type.name}), but no projection keeps it fresh`,
          at: type.at,
          related: [origin.type.at],
          hint: 'Declare a projection. Or write that the field is a snapshot ("as sold").',
        };
    }
  }
}
