// Dead letters of documents whose keys move. Hosts of the target park what they can't apply of the copies themselves. Where
// effects are events they get no copies, so the letters go along: what they stand for is still to come.
import type { Container } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { rewrite } from '../../cosmos/compare-and-swap.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { KeptChanges } from '../../engine/dead-letters/kept-changes.ts';
import type { LetterDocument } from '../../engine/dead-letters/letter-document.ts';
import type { Identity } from '../../feed/reading/change.ts';
import { feedWithoutSystemFields as contentOf } from '../../feed/reading/mapper.ts';
import { isRestored } from '../../kinds/archive/restored.ts';
import { isBackfilled } from '../../kinds/backfilled.ts';
import { keysOf } from './cold.ts';
import { MovedDocuments, markOf } from './documents.ts';
import { type MovedEntryKeys, asDocument, keyCondition } from './entries-of.ts';
import { type Moving, accessTo } from './moving.ts';
import type { MovePlace, MovedContainer } from './side.ts';

const AT_ONCE = { concurrency: 16 };

/** A letter without the change that may be stored in it. */
type Found = Pick<LetterDocument, 'id' | 'pk' | 'container' | 'key' | 'document' | 'events'>;

const identityOf = ({ container, key, document: id }: Found): Identity => ({ container, key, id });

async function* lettersOf(
  { state }: Pick<MovePlace, 'state'>,
  of: MovedContainer,
  { map, span }: MovedEntryKeys,
  signal: AbortSignal,
): AsyncGenerator<Found> {
  if (!state) return;
  const { condition, parameters } = keyCondition(map, span, of, 'c.key');
  const query = {
    query: `SELECT c.id, c.pk, c.kind, c.format, c.container, c.key, c.document, c.events FROM c WHERE c.kind = 'dead-letter' AND c.container = @name${condition}`,
    parameters: [{ name: '@name', value: of.name }, ...parameters],
  };
  for await (const letter of fetchAll<Found>(state, query, signal))
    if (of.part.has(asDocument(of, letter.key))) yield letter;
}

/** How many dead letters a shard has of documents of the keys. */
export async function countMovedLetters(
  place: Pick<MovePlace, 'state'>,
  containers: readonly MovedContainer[],
  keys: MovedEntryKeys,
  signal: AbortSignal,
): Promise<number> {
  let count = 0;
  for (const of of containers) for await (const _ of lettersOf(place, of, keys, signal)) count += 1;
  return count;
}

/**
 * Takes letters along whose effects are events, once the source's hosts have acknowledged everything: from then on only a
 * redrive changes them. May be run again. Those of named late writes stay with their documents.
 */
export async function carryLetters(moving: Moving): Promise<void> {
  const named = new Set(moving.record.now.parked.map(canonical));
  for (const of of moving.containers)
    moving.total.letters += await carry(moving, of, (one) => !named.has(canonical(one)));
}

/** Takes the letters of one document along. */
export const carryLettersOf = (moving: Moving, of: MovedContainer, one: Identity): Promise<number> =>
  carry(moving, of, (other) => canonical(other) === canonical(one));

async function carry(moving: Moving, of: MovedContainer, chosen: (one: Identity) => boolean): Promise<number> {
  const { from, to, signal } = moving;
  if (!from.state || !to.state) return 0;
  const targets = new MovedDocuments(of.right, accessTo(moving, to));
  const due: Found[] = [];
  for await (const letter of lettersOf(from, of, keysOf(moving), signal))
    // A projection that takes copies finds the target's document in another version, and drops the letter.
    if (letter.events !== false && chosen(identityOf(letter))) due.push(letter);
  const carried = await mapSettled(due, (one) => carryOne(one, from.state!, to.state!, targets), AT_ONCE);
  return carried.filter(Boolean).length;
}

/** The target first: at every moment one of both shards lists it. False: there is nothing to carry any more. */
async function carryOne(found: Found, from: Container, to: Container, targets: MovedDocuments): Promise<boolean> {
  const document = await targets.read(found.key, found.document);
  // The application has written it there since: that version replaces the parked one.
  const isReplaced = document !== undefined && !markOf(document) && !isSilent(document);
  const { id, pk } = found;
  const { before } = await rewrite(from, { id, pk }, async (stored?: LetterDocument) => {
    if (!stored || isReplaced) return undefined;
    await new KeptChanges(from).copyTo(to, pk, stored);
    const letter = { ...withoutSystemFields(stored), carried: true };
    await rewrite(to, { id, pk }, (there?: LetterDocument) => there ?? letter);
    return undefined;
  });
  // What a blob has belongs to the letter in the target now.
  if (before?.parts) await new KeptChanges(from).remove(pk, { parts: before.parts });
  return before !== undefined && !isReplaced;
}

/** Whether a backfill or a restore has written a document last: no event, so the parked one is still to come. */
function isSilent(document: Readonly<Record<string, unknown>>): boolean {
  const content = contentOf(document);
  return isBackfilled(document, content) || isRestored(document, content);
}

/** Removes the letters of the keys from a shard, when its hosts have acknowledged that their documents are elsewhere. */
export async function dropLetters(moving: Moving, place: MovePlace, chosen: (one: Identity) => boolean): Promise<void> {
  const { state } = place;
  if (!state) return;
  for (const of of moving.containers) {
    const due: Found[] = [];
    for await (const letter of lettersOf(place, of, keysOf(moving), moving.signal))
      if (chosen(identityOf(letter))) due.push(letter);
    await mapSettled(due, ({ id, pk }) => drop(state, id, pk), AT_ONCE);
  }
}

async function drop(state: Container, id: string, pk: string): Promise<void> {
  const { before } = await rewrite<LetterDocument, undefined>(state, { id, pk }, () => undefined);
  if (before?.parts) await new KeptChanges(state).remove(pk, { parts: before.parts });
}
