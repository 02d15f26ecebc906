import { canonical } from '../../base/json.ts';
import type { Doc, EmbedSpec } from '../../definition/specs.ts';
import { hashOf, stored } from './fields.ts';

/**
 * Whether two versions of a parent tell every child the same (null: it was deleted), so that none has to be asked for.
 * `set` is held against a child that notices being looked at: where it looks, or throws, only the same content is the same.
 */
export function sameTold({ set }: EmbedSpec, before: Doc | null, after: Doc | null): boolean {
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

/** A document of which every use is noticed. */
function watched(): { readonly doc: Doc; readonly looked: boolean } {
  const state = { looked: false };
  const notice = (): never => {
    state.looked = true;
    throw new Error('The child was looked at');
  };
  const traps = new Proxy<ProxyHandler<Doc>>({}, { get: () => notice });
  return Object.assign(state, { doc: new Proxy<Doc>({}, traps) });
}
