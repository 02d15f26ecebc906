import { canonical } from '../../base/json.ts';
import type { Doc, EmbedSpec } from '../../pipeline/specs.ts';
import { hashOf, stored } from './fields.ts';

/**
 * Whether two versions of a parent give every child the same fields (null: it was deleted), so that no child must be
 * read. Calls `set` with a child that detects every access: if `set` reads the child or throws, the answer is false
 * unless the two versions have the same content.
 */
export function sameForChildren({ set }: EmbedSpec, before: Doc | null, after: Doc | null): boolean {
  if (before === null || after === null) return before === after;
  if (hashOf(before) === hashOf(after)) return true;
  const child = watched();
  try {
    return Object.values(set).every((value) => {
      const [was, is] = [stored(value(before, child.doc)), stored(value(after, child.doc))];
      return !child.looked && (was === undefined) === (is === undefined) && canonical(was) === canonical(is);
    });
  } catch {
    return false;
  }
}

/** A document that detects every access to it. */
function watched(): { readonly doc: Doc; readonly looked: boolean } {
  const state = { looked: false };
  const notice = (): never => {
    state.looked = true;
    throw new Error('set reads the child');
  };
  const traps = new Proxy<ProxyHandler<Doc>>({}, { get: () => notice });
  return Object.assign(state, { doc: new Proxy<Doc>({}, traps) });
}
