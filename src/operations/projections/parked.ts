// What verification says of documents whose newest version is parked: they are named, and nothing is expected of them.
import type { Container } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { fullKey, splitPath } from '../../cosmos/paths.ts';
import type { Doc, SourceRef } from '../../definition/specs.ts';
import { DeadLetters, type DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import type { Identity } from '../../feed/reading/change.ts';

export type ParkedDocument = Pick<DeadLetter, 'projection' | 'container' | 'key' | 'id' | 'code' | 'message'>;

/** Parked for a document that isn't Millrace's in its place; such a place is compared, since a repair may take it over. */
const OCCUPIED = 'sink-occupied';

export const identityText = ({ container, key, id }: Identity): string => canonical([container, key, id]);

/** Who a stored document is, by its container's key paths; undefined where its key is incomplete. */
export function identityOf(container: string, keyPaths: readonly string[], doc: Doc): Identity | undefined {
  const keyed = fullKey(doc, keyPaths.map(splitPath));
  return 'key' in keyed && typeof doc['id'] === 'string' ? { container, key: keyed.key, id: doc['id'] } : undefined;
}

export interface Parked {
  /** The documents of a source without those whose newest version is parked. */
  without(of: SourceRef, docs: readonly Doc[]): readonly Doc[];
  /** Whether a document's newest version is parked; `where`: for a place in the sink alone. */
  has(who: Identity | undefined, where?: 'occupied'): boolean;
  readonly documents: readonly ParkedDocument[];
}

/** The letters of a projection that concern the versions there are now. */
export async function parkedOf(
  state: Container,
  projection: string,
  sources: readonly { readonly of: SourceRef; readonly docs: readonly Doc[]; readonly keyPaths: readonly string[] }[],
): Promise<Parked> {
  const letters = new Map(
    (await new DeadLetters(state).list(projection)).map((letter) => [identityText(letter), letter]),
  );
  const current = new Map<string, DeadLetter>();
  const known = new Map<Doc, string>();
  if (letters.size > 0)
    for (const { of, docs, keyPaths } of sources)
      for (const doc of docs) {
        const who = identityOf(of.container, keyPaths, doc);
        const text = who && identityText(who);
        const letter = text === undefined ? undefined : letters.get(text);
        if (text === undefined || !letter) continue;
        letters.delete(text);
        if (letter.version.etag !== doc['_etag']) continue;
        current.set(text, letter);
        known.set(doc, text);
      }
  // Of a document that isn't there, its deletion may be what is parked.
  for (const [text, letter] of letters) if (letter.op === 'delete') current.set(text, letter);
  return {
    without: (_of, docs) =>
      docs.filter((doc) => {
        const text = known.get(doc);
        return text === undefined || current.get(text)?.code === OCCUPIED;
      }),
    has: (who, where) => {
      const letter = who && current.get(identityText(who));
      return letter !== undefined && (where === undefined || letter.code === OCCUPIED);
    },
    documents: [...current.values()].map(({ container, key, id, code, message }) => ({
      projection,
      container,
      key,
      id,
      code,
      message,
    })),
  };
}
