import { canonical, digest, isObject } from '../../base/json.ts';
import { type Doc, type EmbedSpec, projectionId } from '../../definition/specs.ts';
import type { Identity, Key, Version } from '../../feed/reading/change.ts';
import type { SourceContainer } from '../../feed/reading/mapper.ts';
import { assertStorable } from '../sink-type.ts';

/** What is known of a parent. */
export interface ParentState {
  readonly version: Version;
  /** null: it was deleted, and its fields go with it. */
  readonly doc: Doc | null;
}

/** Epoch and lsn of a parent. */
export type Order = readonly [epoch: number, lsn: number];

/** What a child remembers of an embed, in `_mr["name@version"]`. */
export interface Guard {
  /** Of its content as the embed left it: by that an echo is known. */
  readonly hash: string;
  /** The version it holds of each of its parents, by `refOf`. */
  readonly parents: Readonly<Record<string, Order>>;
}

/** A child, or an element of its list, and the parent it names. */
export interface Match {
  readonly ref: string;
  readonly parent: Identity;
  readonly item: Doc;
  /** Place in the list; undefined: the child itself. */
  readonly at?: number;
}

/** Tells a parent in a guard: short, since an order has many lines. 132 bits. */
export const refOf = ({ container, key, id }: Identity): string => digest([container, key, id]).slice(0, 22);

/** The parents that a child names, where `when` lets them have a say. */
export function matchesOf(spec: EmbedSpec, parents: SourceContainer, child: Doc): Match[] {
  const list: unknown = spec.each ? child[spec.each.field] : [child];
  if (!Array.isArray(list)) return [];
  return list.flatMap((item: unknown, at): Match[] => {
    if (!isObject(item) || (spec.when && !spec.when(item, child))) return [];
    const parent = parentOf(spec, parents, item, child);
    return parent ? [{ ref: refOf(parent), parent, item, ...(spec.each && { at }) }] : [];
  });
}

/** undefined where a field that names the parent is missing, or can't be a key. */
function parentOf(spec: EmbedSpec, parents: SourceContainer, item: Doc, child: Doc): Identity | undefined {
  const field = (name: string): unknown =>
    spec.each && name in spec.each.on ? item[spec.each.on[name] ?? ''] : child[spec.on[name] ?? ''];
  const id = field('id');
  const key = parents.keyPaths.map((path) => field(path.join('/')));
  if (typeof id !== 'string' || key.some((value) => !['string', 'number', 'boolean'].includes(typeof value)))
    return undefined;
  return { container: parents.name, key: key as Key, id };
}

/**
 * The fields of a child that have to be written for it to be as these parents say, undefined ones to be taken away; none:
 * it is so already. Elements whose parent isn't among `states`, or is known older than what the child holds, are left
 * as they are.
 */
export function fieldsDue(
  spec: EmbedSpec,
  matches: readonly Match[],
  states: ReadonlyMap<string, ParentState>,
  child: Doc,
  guard: Guard | undefined,
): Doc {
  const held: unknown = spec.each && child[spec.each.field];
  const list: unknown[] = Array.isArray(held) ? [...(held as unknown[])] : [];
  const due: Doc = {};
  for (const { ref, item, at } of matches) {
    const state = states.get(ref);
    if (!state || isOlder(orderOf(state.version), guard?.parents[ref])) continue;
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

/** As it comes back from where it is stored. */
export const stored = (value: unknown): unknown =>
  value === undefined ? undefined : (JSON.parse(JSON.stringify(value) ?? 'null') as unknown);

/** The guard of a child once it is written: of the parents it names now, the newest version that either knew. */
export function guardOf(
  matches: readonly Match[],
  states: ReadonlyMap<string, ParentState>,
  content: Doc,
  before: Guard | undefined,
): Guard {
  const parents: Record<string, Order> = {};
  for (const { ref } of matches) {
    const state = states.get(ref);
    const known = before?.parents[ref];
    const now = state && orderOf(state.version);
    const newest = now && !isOlder(now, known) ? now : known;
    if (newest) parents[ref] = newest;
  }
  return { hash: hashOf(content), parents };
}

/** Of a child's content: without system fields, ours, and `ttl`, which we rewrite ourselves. */
export function hashOf(content: Doc): string {
  const { ttl: _ttl, ...rest } = content;
  return digest(rest);
}

export const orderOf = ({ epoch, lsn }: Version): Order => [epoch, lsn];

/** Whether `a` is an older version than what is known. */
export const isOlder = (a: Order, known: Order | undefined): boolean =>
  known !== undefined && (a[0] === known[0] ? a[1] < known[1] : a[0] < known[0]);
