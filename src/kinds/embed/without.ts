import { isObject } from '../../base/json.ts';
import type { Doc, EmbedSpec } from '../../pipeline/specs.ts';

/** A document without the fields that these embeds write, so only with those of its own writer. */
export function withoutEmbedded(embeds: readonly EmbedSpec[], doc: Doc): Doc {
  let own = doc;
  for (const { each, set } of embeds) {
    const list: unknown = each && own[each.field];
    if (!each) own = without(own, set);
    else if (Array.isArray(list))
      own = { ...own, [each.field]: list.map((item: unknown) => (isObject(item) ? without(item, set) : item)) };
  }
  return own;
}

const without = (doc: Doc, fields: object): Doc =>
  Object.fromEntries(Object.entries(doc).filter(([field]) => !Object.hasOwn(fields, field)));
