import { canonical } from '../base/json.ts';
import { type Model, examplesOf } from '../model/model.ts';
import type { Doc, Join } from './specs.ts';

/** The example that a document's join names, or the first; null: there is none. */
export function joinedExample({ of, on }: Join, model: Model, doc: Doc): Doc | null {
  const all = examplesOf(model, of);
  const isNamed = (one: Doc): boolean =>
    Object.entries(on).every(([theirs, ours]) => canonical(one[theirs]) === canonical(doc[ours]));
  return all.find(isNamed) ?? all[0] ?? null;
}
