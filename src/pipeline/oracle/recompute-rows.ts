// The oracle of sinks outside of Cosmos DB: it computes the rows that they must hold, from the source documents alone.
import { levelOf } from '../../base/key-level.ts';
import { exampleValueAt } from '../../model/model.ts';
import { typeRules } from '../discriminator.ts';
import { isEmptied } from '../emptied.ts';
import type { Doc, OutsideSpec, SourceRules } from '../specs.ts';
import { ownFields } from './recompute.ts';
import { entryId } from '../derived-ids.ts';

/** The rows by their ids. `docs`: the source's present documents, including those with a delete marker. */
export function recomputeRows(
  spec: Pick<OutsideSpec, 'from' | 'onDelete' | 'where' | 'map'>,
  docs: Iterable<Doc>,
  rules: readonly SourceRules[],
  { keyPaths, refused }: { readonly keyPaths: readonly string[]; readonly refused: (doc: Doc, cause: unknown) => void },
): Map<string, unknown> {
  const { upcast, deleted } = typeRules(rules, spec.from);
  const rows = new Map<string, unknown>();
  for (const raw of docs) {
    try {
      const stored = ownFields(raw);
      const doc = upcast ? upcast(stored) : stored;
      if (isEmptied(raw) || (deleted?.(doc) && spec.onDelete === 'remove')) continue;
      if (spec.where && !spec.where(doc)) continue;
      const key = keyPaths.map((path) => levelOf(exampleValueAt(raw, path)));
      rows.set(entryId(key, String(raw['id'])), JSON.parse(JSON.stringify(spec.map(doc)) ?? 'null'));
    } catch (cause) {
      refused(raw, cause);
    }
  }
  return rows;
}
