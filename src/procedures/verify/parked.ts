// Documents whose newest version is parked. Verification lists them, and expects nothing of them.
import type { Container } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { storedKey, splitPath } from '../../cosmos/paths.ts';
import type { Doc, SourceRef } from '../../pipeline/specs.ts';
import { DeadLetters, type DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import type { Identity } from '../../feed/reading/change.ts';

export type ParkedDocument = Pick<DeadLetter, 'projection' | 'container' | 'key' | 'id' | 'code' | 'message'>;

/** Parked because a document that isn't Millrace's has its place. Such a place is compared, because a repair may take it. */
const OCCUPIED = 'sink-occupied';

export const identityText = ({ container, key, id }: Identity): string => canonical([container, key, id]);

/** The identity of a stored document, by its container's key paths; undefined if it has no id. */
export function parkedIdentityOf(container: string, keyPaths: readonly string[], doc: Doc): Identity | undefined {
  const { id } = doc;
  return typeof id === 'string' ? { container, key: storedKey(doc, keyPaths.map(splitPath)), id } : undefined;
}

export interface ParkedDocuments {
  /** Documents, without the parked ones. */
  without(docs: readonly Doc[]): readonly Doc[];
  /** Whether a document is parked; with `occupied`, whether it is parked because its place in the sink is taken. */
  has(who: Identity | undefined, where?: 'occupied'): boolean;
  readonly documents: readonly ParkedDocument[];
}

/** The documents of a projection whose present version has a dead letter. */
export async function parkedOf(
  states: readonly Container[],
  projection: string,
  sources: readonly { readonly of: SourceRef; readonly docs: readonly Doc[]; readonly keyPaths: readonly string[] }[],
): Promise<ParkedDocuments> {
  const listed = await Promise.all(states.map((state) => new DeadLetters(state).list(projection)));
  const letters = new Map(listed.flat().map((letter) => [identityText(letter), letter]));
  const current = new Map<string, DeadLetter>();
  const known = new Map<Doc, string>();
  if (letters.size > 0)
    for (const { of, docs, keyPaths } of sources)
      for (const doc of docs) {
        const who = parkedIdentityOf(of.container, keyPaths, doc);
        const text = who && identityText(who);
        const letter = text === undefined ? undefined : letters.get(text);
        if (text === undefined || !letter) continue;
        letters.delete(text);
        if (letter.version.etag !== doc['_etag']) continue;
        current.set(text, letter);
        known.set(doc, text);
      }
  // If a document does not exist, its deletion may be parked.
  for (const [text, letter] of letters) if (letter.op === 'delete') current.set(text, letter);
  return {
    without: (docs) =>
      docs.filter((doc) => {
        const text = known.get(doc);
        return text === undefined || current.get(text)?.code === OCCUPIED;
      }),
    has: (who, where) => {
      const letter = who && current.size > 0 ? current.get(identityText(who)) : undefined;
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
