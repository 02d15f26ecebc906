// The oracle of embeds: it computes a child's fields from the parents and the child alone. Like `recompute` it shares no
// code with the engine.
import { typeRules } from '../discriminator.ts';
import { isEmptied } from '../emptied.ts';
import type { Doc, EmbedSpec, SourceRef, SourceRules } from '../specs.ts';
import { named, ownFields, visible } from './recompute.ts';

export interface ExpectedChild {
  readonly raw: Doc;
  /** The stored child, without the fields that Cosmos DB and Millrace add. */
  readonly found: Doc;
  /** The expected child; equal to `found` in all fields that no embed writes. */
  readonly expected: Doc;
}

/**
 * The children of a type, as all of its embeds must have written them. A field is expected as it is if its parent doesn't
 * exist (it never did, or was removed long ago). The same holds for a child that an embed can't take: `refused` gets it.
 */
export function* recomputeEmbeds(
  specs: readonly EmbedSpec[],
  documentsOf: (of: SourceRef) => Iterable<Doc>,
  rules: readonly SourceRules[],
  refused: (spec: EmbedSpec, child: Doc, cause: unknown) => void,
): Generator<ExpectedChild> {
  const [first] = specs;
  if (!first) return;
  const parents = specs.map((spec) => ({
    spec,
    find: finder(spec, documentsOf(spec.from), typeRules(rules, spec.from)),
  }));
  const { deleted } = typeRules(rules, first.into);
  for (const raw of documentsOf(first.into)) {
    const found = ownFields(raw);
    let child = found;
    for (const { spec, find } of parents) {
      try {
        if (!deleted?.(child)) child = visible(embedded(spec, child, find));
      } catch (cause) {
        refused(spec, found, cause);
      }
    }
    yield { raw, found, expected: child };
  }
}

type Find = (item: Doc, child: Doc) => Doc | 'deleted' | undefined;

function embedded(spec: EmbedSpec, child: Doc, find: Find): Doc {
  const { each } = spec;
  if (!each) return withFields(spec, child, child, find);
  const list = child[each.field];
  if (!Array.isArray(list)) return child;
  return { ...child, [each.field]: list.map((item: Doc) => withFields(spec, item, child, find)) };
}

function withFields(spec: EmbedSpec, item: Doc, child: Doc, find: Find): Doc {
  if (typeof item !== 'object' || item === null || (spec.when && !spec.when(item, child))) return item;
  const parent = find(item, child);
  if (parent === undefined) return item;
  const values = Object.entries(spec.set).map(
    ([field, value]) => [field, parent === 'deleted' ? undefined : value(parent, item)] as const,
  );
  return { ...item, ...Object.fromEntries(values) };
}

/** Returns a function that finds a parent by the values of the fields in `on`: the parent's id and whole key. */
function finder(
  spec: EmbedSpec,
  parents: Iterable<Doc>,
  { upcast, deleted }: Omit<SourceRules, keyof SourceRef>,
): Find {
  const ofChild = Object.entries(spec.on);
  const ofItem = Object.entries(spec.each?.on ?? {});
  const known = new Map<string, Doc | 'deleted'>();
  for (const raw of parents) {
    const stored = ownFields(raw);
    const parent = upcast ? upcast(stored) : stored;
    const key = named([...ofChild, ...ofItem].map(([field]) => parent[field]));
    if (key === undefined) continue;
    const gone = isEmptied(raw) || deleted?.(parent);
    known.set(key, gone && spec.onDelete === 'remove' ? 'deleted' : parent);
  }
  return (item, child) =>
    known.get(named([...ofChild.map(([, field]) => child[field]), ...ofItem.map(([, field]) => item[field])]) ?? '');
}
