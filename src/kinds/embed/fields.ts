import { namesLevel } from '../../base/key-level.ts';
import { canonical, digest, isObject } from '../../base/json.ts';
import { type Doc, type EmbedSpec, projectionId } from '../../pipeline/specs.ts';
import type { Identity, Version } from '../../feed/reading/change.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import { assertStorable } from '../sink-type.ts';

/** A version of a parent. */
export interface ParentState {
  readonly version: Version;
  /** null: the parent was deleted, so its fields are removed from the children. */
  readonly doc: Doc | null;
}

/** Epoch and lsn of a parent. */
export type EmbedOrder = readonly [epoch: number, lsn: number];

/** What a child stores about an embed, in `_mr["name@version"]`. */
export interface Guard {
  /** A digest of its content after the embed's write; an equal digest means that a change is the embed's own. */
  readonly hash: string;
  /** The version of each of its parents whose fields it has, by `refOf`. */
  readonly parents: Readonly<Record<string, EmbedOrder>>;
}

/** A child, or an element of its list, and the parent it names. */
export interface Match {
  readonly ref: string;
  readonly parent: Identity;
  readonly item: Doc;
  /** Index in the list; undefined: the child itself. */
  readonly at?: number;
}

/** The guards of embeds in `_mr`: their names have a version. */
const isGuardName = (name: string): boolean => name.includes('@');

/** Whether an embed has written fields of a document. `own`: its `_mr`. */
export const isGuarded = (own: unknown): boolean => isObject(own) && Object.keys(own).some(isGuardName);

/** `_mr` without the guards of embeds: versions of parents have no order with those of another shard. */
export const withoutGuards = (own: unknown): unknown =>
  isObject(own) ? Object.fromEntries(Object.entries(own).filter(([name]) => !isGuardName(name))) : own;

/** Whether an embed has written a stored document last. `content`: without system fields. */
export const isByEmbed = (own: unknown, content: Doc): boolean =>
  isObject(own) &&
  Object.entries(own).some(
    ([name, guard]) => isGuardName(name) && isObject(guard) && guard['hash'] === hashOf(content),
  );

/** Identifies a parent in a guard. Short, since an order has many lines; 132 bits. */
export const refOf = ({ container, key, id }: Identity): string => digest([container, key, id]).slice(0, 22);

/** The parents that a child names, except where `when` returns false. */
export function matchesOf(spec: EmbedSpec, parents: SourceContainer, child: Doc): Match[] {
  const list: unknown = spec.each ? child[spec.each.field] : [child];
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown, at): Match[] => {
    if (!isObject(item) || (spec.when && !spec.when(item, child))) return [];
    const parent = parentOf(spec, parents, item, child);
    return parent ? [{ ref: refOf(parent), parent, item, ...(spec.each && { at }) }] : [];
  });
}

/** Undefined if a field that names the parent is missing, or can't be a key. */
function parentOf(spec: EmbedSpec, parents: SourceContainer, item: Doc, child: Doc): Identity | undefined {
  const field = (name: string): unknown =>
    spec.each && name in spec.each.on ? item[spec.each.on[name] ?? ''] : child[spec.on[name] ?? ''];
  const id = field('id');
  const key = parents.keyPaths.map((path) => field(path.join('/')));
  if (typeof id !== 'string' || !key.every(namesLevel)) return undefined;
  return { container: parents.name, key, id };
}

/**
 * The fields that must be written to a child so that it agrees with these parents; undefined values are to be removed.
 * An empty result means that it agrees already. An element stays as it is if its parent isn't among `states`, or if the
 * child has a newer version of that parent.
 */
export function fieldsDue(
  spec: EmbedSpec,
  matches: readonly Match[],
  states: ReadonlyMap<string, ParentState>,
  child: Doc,
  guard: Guard | undefined,
): Doc {
  const current: unknown = spec.each && child[spec.each.field];
  const list: unknown[] = Array.isArray(current) ? [...(current as unknown[])] : [];
  const due: Doc = {};
  for (const { ref, item, at } of matches) {
    const state = states.get(ref);
    if (!state || isOlder(embedOrderOf(state.version), guard?.parents[ref])) continue;
    const changed: Doc = {};
    for (const [field, value] of Object.entries(spec.set)) {
      const now = state.doc === null ? undefined : given(spec, field, value(state.doc, item));
      if (canonical(now) !== canonical(item[field]) || (now === undefined) !== (item[field] === undefined))
        changed[field] = now;
    }
    if (Object.keys(changed).length === 0) continue;
    if (at === undefined || !spec.each) return changed;
    list[at] = { ...item, ...changed };
    due[spec.each.field] = list;
  }
  return due;
}

function given(spec: EmbedSpec, field: string, value: unknown): unknown {
  assertStorable(value, projectionId(spec), `/${spec.each ? `${spec.each.field}/*/` : ''}${field}`);
  return stored(value);
}

/** The value as a later read returns it. */
export const stored = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value) ?? 'null') as unknown);

/** The guard of a child after the write: for each parent that it names now, the newer version of `states` and `before`. */
export function guardOf(
  matches: readonly Match[],
  states: ReadonlyMap<string, ParentState>,
  content: Doc,
  before: Guard | undefined,
): Guard {
  const parents: Record<string, EmbedOrder> = {};
  for (const { ref } of matches) {
    const state = states.get(ref);
    const known = before?.parents[ref];
    const now = state && embedOrderOf(state.version);
    const newest = now && !isOlder(now, known) ? now : known;
    if (newest) parents[ref] = newest;
  }
  return { hash: hashOf(content), parents };
}

/** A digest of a child's content. Callers leave out system fields and `_mr`; `ttl` is left out here, as embeds rewrite it. */
export function hashOf(content: Doc): string {
  const { ttl: _ttl, ...rest } = content;
  return digest(rest);
}

export const embedOrderOf = ({ epoch, lsn }: Version): EmbedOrder => [epoch, lsn];

/** Whether `a` is an older version than the known one. */
export const isOlder = (a: EmbedOrder, known: EmbedOrder | undefined): boolean =>
  known !== undefined && (a[0] === known[0] ? a[1] < known[1] : a[0] < known[0]);
