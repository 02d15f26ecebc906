// The changes that are stored apart from their dead letters, in documents and in blobs.
import { gunzipSync } from 'node:zlib';
import { readItem } from '../../cosmos/read-item.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { LETTER_BODIES } from '../../engine/dead-letters/letter-bodies.ts';
import type { SinkDocument } from '../../access/document-access.ts';
import { type Count, type PlaceParts, all } from './erase-options.ts';
import type { Owned } from './owned.ts';
import { removeFrom } from './remove-by-query.ts';

const FIELDS = 'pk,kind,container,key,document,tenant,parts,blob'.split(',').map((field) => `c.${field}`);

interface LetterPart {
  readonly id: string;
  readonly pk: string;
}

/**
 * Removes the parts and the blobs of the tenant's letters, before the letters: what is left after a crash still has its
 * letter. Parts and blobs without a letter go if their content is the tenant's. `held` gets the blobs that a hold keeps.
 */
export async function removeKept(owned: Owned, count: Count, options: PlaceParts, held: Set<string>): Promise<void> {
  const { services, store, signal } = options;
  const ofOthers = new Set<string>();
  const ofTenant = new Set<string>();
  const letters = `SELECT ${FIELDS.join(', ')}, c.change.doc, c.change.before FROM c WHERE c.kind = 'dead-letter' AND (IS_DEFINED(c.parts) OR IS_DEFINED(c.blob))`;
  for await (const letter of fetchAll<SinkDocument>(services.place.state, letters, signal, { anyFormat: true })) {
    const { parts, blob } = letter as { parts?: { readonly name: string }; blob?: string };
    const mine = owned.hasLetter(letter);
    for (const name of [parts?.name, blob]) if (name !== undefined) (mine ? ofTenant : ofOthers).add(name);
  }
  const goes = async (name: string, read: () => Promise<string | undefined>): Promise<boolean> =>
    ofTenant.has(name) || (!ofOthers.has(name) && owned.hasChange(parsed(await read())));
  for (const [name, parts] of await partsByName(options)) {
    if (!(await goes(name, () => textOf(parts, services.place.state)))) continue;
    for (const { id, pk } of parts) {
      const query = { query: 'SELECT * FROM c WHERE c.id = @id', parameters: [{ name: '@id', value: id }] };
      const from = { container: services.place.state, keyPaths: [['pk']] };
      count('dead letters', await removeFrom(from, query, () => true, options, { partitionKey: pk }));
    }
  }
  if (!store) return;
  for await (const name of store.listEver(`${LETTER_BODIES}/`)) {
    const read = async (): Promise<string | undefined> => unpacked((await store.readEver(name))?.bytes);
    if (!(await goes(name, read))) continue;
    if ((await store.remove(name)) === 'removed') count('dead letters', all(1));
    else held.add(name);
  }
}

/** All parts of letters, by the name that a letter has for its own. */
export async function partsByName({
  services,
  signal,
}: Pick<PlaceParts, 'services' | 'signal'>): Promise<Map<string, LetterPart[]>> {
  const found = new Map<string, LetterPart[]>();
  const query = "SELECT c.id, c.pk FROM c WHERE c.kind = 'dead-letter-part'";
  for await (const part of fetchAll<LetterPart>(services.place.state, query, signal, { anyFormat: true })) {
    const name = part.id.slice(0, part.id.lastIndexOf('.'));
    found.set(name, [...(found.get(name) ?? []), part]);
  }
  return found;
}

/** The JSON of a change from its parts; cut off if one is missing. */
export async function textOf(
  parts: readonly LetterPart[],
  state: PlaceParts['services']['place']['state'],
): Promise<string> {
  const numbered = parts.toSorted((a, b) => numberOf(a) - numberOf(b));
  const read: Buffer[] = [];
  for (const { id, pk } of numbered)
    read.push(Buffer.from((await readItem<{ id: string; bytes: string }>(state.item(id, pk)))?.bytes ?? '', 'base64'));
  return Buffer.concat(read).toString('utf8');
}

const numberOf = ({ id }: LetterPart): number => Number(id.slice(id.lastIndexOf('.') + 1));

/** Undefined: a crash cut it off, or its content isn't Millrace's. The search looks at its text. */
function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unpacked(bytes: Uint8Array | undefined): string | undefined {
  try {
    return bytes && gunzipSync(bytes).toString();
  } catch {
    return undefined;
  }
}
