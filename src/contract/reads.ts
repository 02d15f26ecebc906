// Finds the fields that embeds, reactions, `send` and `publish` read. The examples don't show the results of these functions.
import { isObject } from '../base/json.ts';
import { type Model, examplesOf } from '../model/model.ts';
import { attempt } from '../pipeline/watched.ts';
import { typeRules } from '../pipeline/discriminator.ts';
import type { DerivedSpec, Doc, EmbedSpec, Pipeline } from '../pipeline/specs.ts';
import { type Read, Watcher } from './watcher.ts';

/** Fields that the functions of such a declaration read and that no example has. */
export function joinedReads(spec: DerivedSpec, model: Model, pipeline: Pipeline): readonly Read[] {
  const watcher = new Watcher(model);
  if (spec.kind === 'custom') return [];
  const { upcast, deleted } = typeRules(pipeline.sources, spec.from);
  // A document after `upcast` has other fields than the examples.
  if (upcast) return [];
  for (const example of examplesOf(model, spec.from)) {
    if (attempt(() => deleted?.(example)) === true) continue;
    const doc = watcher.watch(example, spec.from);
    if (spec.kind === 'embed') readByEmbed(spec, doc, model, watcher);
    if (spec.kind === 'react') attempt(() => spec.when?.(doc));
    if ('where' in spec) attempt(() => spec.where?.(doc));
    if (spec.kind === 'send' || spec.kind === 'publish') attempt(() => spec.map?.(doc));
  }
  return watcher.unknown;
}

function readByEmbed(spec: EmbedSpec, parent: Doc, model: Model, watcher: Watcher): void {
  for (const example of examplesOf(model, spec.into)) {
    const child = watcher.watch(example, spec.into);
    const list: unknown = spec.each ? child[spec.each.field] : [child];
    for (const item of Array.isArray(list) ? list.filter(isObject) : []) {
      attempt(() => spec.when?.(item, child));
      for (const set of Object.values(spec.set)) attempt(() => set(parent, item));
    }
  }
}
