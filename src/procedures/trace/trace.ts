import type { Container, Database } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { readItem } from '../../cosmos/read-item.ts';
import type { Model } from '../../model/model.ts';
import { isOfType, typeRules } from '../../pipeline/discriminator.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { unreadBy } from '../../pipeline/fields/touched.ts';
import {
  type AggregateSpec,
  type CopySpec,
  type Doc,
  type Pipeline,
  hasLocator,
  projectionId,
} from '../../pipeline/specs.ts';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import { listLetters } from '../../engine/dead-letters/letter-queries.ts';
import { pausedBy } from '../../engine/views/held.ts';
import { Views, type ViewsByName } from '../../engine/views/views.ts';
import type { Identity, Key, Version } from '../../feed/reading/change.ts';
import { type LocatorDocument, locatorAt } from '../../kinds/locator.ts';
import { projectionDatabase } from '../../runtime/place-containers.ts';
import { type Context, partsOf } from '../context.ts';
import { DocumentsOf } from '../verify/reading/documents-of.ts';
import { projectionStateOf } from '../projections/projection-rows.ts';
import { type TracedRange, tracedRange } from './range.ts';

type Reader = ReturnType<typeof feedReaders>[number];

/** Where a projection has a document, and why it doesn't have it as it is now. */
export interface TracedProjection {
  /** `name@version`. */
  readonly id: string;
  readonly kind: string;
  readonly state:
    | 'applied'
    | 'missing'
    | 'read'
    | 'waiting'
    | 'parked'
    | 'paused'
    | 'not applied'
    | 'idle'
    | 'not known'
    | 'not meant';
  /** Documents of the sink that hold what it derived; only a copy and an aggregate record them. */
  readonly places: readonly { readonly container: string; readonly key: Key; readonly id: string }[];
  /** The version of the document that it applied last; null: none, or the kind doesn't record it. */
  readonly version: Version | null;
  readonly why: string;
}

/** A moment in the life of a document, as far as something stored shows it. */
export interface TracedEvent {
  /** ISO 8601 UTC. */
  readonly at: string;
  readonly what: string;
}

export interface TracedDocument extends Identity {
  /** null: it is not in its container. */
  readonly document: { readonly etag: string; readonly writtenAt: string; readonly body: Doc } | null;
  readonly range: TracedRange;
  readonly events: readonly TracedEvent[];
  readonly projections: readonly TracedProjection[];
}

/** Looks where a document is: in its container, in the feed, and in each projection that reads the container. */
export async function traceDocument(who: Identity, context: Context): Promise<TracedDocument> {
  const { loaded, services, signal } = await partsOf(context);
  const { pipeline } = loaded;
  const { state } = services.place;
  const [body] = (await new DocumentsOf(loaded, services, { signal }).stored([who])).values();
  const [range, letters, views] = await Promise.all([
    tracedRange(who, context),
    listLetters(state, { id: who.id, key: who.key }, signal),
    new Views(services.global.state, pipeline.name).read(),
  ]);
  const document = body ? { etag: String(body['_etag']), writtenAt: timeOf(body), body: visible(body) } : null;
  const own = letters.filter(({ container }) => container === who.container);
  const readers = feedReaders(pipeline).filter((spec) => sourcesOf(spec).some((of) => of.container === who.container));
  const seen = { who, body, range, letters: own, views, pipeline, model: loaded.model };
  const databaseOf = projectionDatabase(pipeline, services);
  const projections = await Promise.all(
    readers.map(async (spec) => {
      const database = databaseOf(projectionId(spec));
      const found = lookAt(spec, seen, await locatorOf(spec, who, database.container(state.id)));
      return withoutMissing(found, spec.name, database);
    }),
  );
  return { ...who, document, range, events: eventsOf(document, own), projections };
}

interface Seen {
  readonly who: Identity;
  readonly body: Doc | undefined;
  readonly range: TracedRange;
  readonly letters: readonly DeadLetter[];
  readonly views: ViewsByName | undefined;
  readonly pipeline: Pipeline;
  readonly model: Model;
}

/** Only these record what they applied of each document, in locators. */
type Recording = CopySpec | AggregateSpec;
const recordsPlaces = (spec: Reader): spec is Recording =>
  (spec.kind === 'copy' || spec.kind === 'aggregate') && hasLocator(spec);

async function locatorOf(spec: Reader, who: Identity, state: Container): Promise<LocatorDocument | undefined> {
  if (!recordsPlaces(spec) || spec.from.container !== who.container) return undefined;
  const { pk, id } = locatorAt(projectionId(spec), who);
  return readItem<LocatorDocument>(state.item(id, pk));
}

function lookAt(spec: Reader, seen: Seen, locator: LocatorDocument | undefined): TracedProjection {
  const { who, body, letters, views } = seen;
  const id = projectionId(spec);
  const into = 'into' in spec && spec.into ? spec.into.container : '';
  const places = (locator?.places ?? []).map((place) => ({ container: into, key: place.key, id: place.id }));
  const of = { id, kind: spec.kind, places, version: locator?.version ?? null };
  const letter = letters.find(({ projection }) => projection === id);
  if (letter) return { ...of, state: 'parked', why: `${letter.code}: ${letter.message}` };
  const notMeant = body && whyNotMeant(spec, body, seen);
  if (notMeant) return { ...of, state: 'not meant', why: notMeant };
  const paused = views && pausedBy(views, spec.name);
  const behind = { ...(paused && { paused: true }), ...isRead(seen) };
  if (recordsPlaces(spec) && spec.from.container === who.container && isFrom(spec, body, seen))
    return { ...of, ...ofRecord(spec, seen, locator, behind) };
  if (behind.read === true) {
    const what =
      'Its hosts have read past the last write, and parked nothing. It stores no record of single documents.';
    return { ...of, state: 'read', why: what };
  }
  return { ...of, ...notYet(behind, seen.range) };
}

interface Behind {
  readonly paused?: boolean;
  /** Whether hosts have read the document's last write; null: not known. */
  readonly read: boolean | null;
}

/** Whether the hosts have read past the last write. A document that is gone has no time. */
function isRead({ body, range: { readUntil, token } }: Seen): Behind {
  if (token === null) return { read: false };
  if (readUntil === null || !body) return { read: null };
  return { read: Number(body['_ts']) * 1_000 < readUntil };
}

/** Of a copy or an aggregate: the locator has the version that was applied last. */
function ofRecord(
  spec: Recording,
  { body, range, views, pipeline, model }: Seen,
  locator: LocatorDocument | undefined,
  behind: Behind,
): Pick<TracedProjection, 'state' | 'why'> {
  if (!body) {
    if (locator?.places.length === 0) return { state: 'applied', why: 'It applied that the document is gone.' };
    if (!locator) return { state: 'not known', why: 'It has no record of the document.' };
    return { state: 'not known', why: 'It still has it: a deletion waits in the feed, or the document was archived.' };
  }
  if (locator?.waits && locator.version.etag === body['_etag'])
    return {
      state: 'waiting',
      why: 'It applied the document as it is now, and waits for a joined document that is missing.',
    };
  if (locator && locator.version.etag === body['_etag'])
    return locator.places.length > 0
      ? { state: 'applied', why: 'It applied the document as it is now.' }
      : {
          state: 'applied',
          why: 'It applied the document as it is now, and leaves it out: its `where` or its key decides so.',
        };
  const held = projectionStateOf(spec, views);
  if (['not built', 'replaced', 'idle'].includes(held))
    return { state: 'idle', why: `This version is ${held}: hosts don’t apply changes to it.` };
  const unread = unreadBy(spec, pipeline, model)?.(spec.from) ?? [];
  if (behind.read === true && locator && unread.length > 0)
    return {
      state: 'read',
      why: `Its hosts have read past the last write, and parked nothing. A version that differs in ${unread.join(', ')} alone is left out, so its record is of the one before, unless changes of its tenant are deferred. \`millrace projections verify ${spec.name}\` compares.`,
    };
  if (behind.read === true)
    return {
      state: 'not applied',
      why: `Its hosts have read past the last write, and it has ${locator ? 'an older version' : 'no record'} of the document. Changes of its tenant may be deferred: see \`millrace status\`. If not, run \`millrace projections verify ${spec.name}\`.`,
    };
  return notYet(behind, range);
}

/** Looks whether what was applied is still there: others delete too. One read of a document for each place. */
async function withoutMissing(found: TracedProjection, name: string, database: Database): Promise<TracedProjection> {
  if (found.state !== 'applied') return found;
  const there = await Promise.all(
    found.places.map(async ({ container, key, id }) => {
      const of = await readItem(database.container(container).item(id, [...key] as never));
      return of !== undefined;
    }),
  );
  const missing = found.places.filter((_, at) => there[at] !== true);
  if (missing.length === 0) return found;
  const where = missing.map(({ container, key, id }) => `${container} ${canonical(key)} ${id}`).join('; ');
  return {
    ...found,
    state: 'missing',
    why: `It applied the document as it is now, and ${where} is not there: it was deleted, expired or archived there. \`millrace projections verify ${name}\` compares all, and \`--repair\` writes what is missing.`,
  };
}

function notYet({ paused, read }: Behind, { owner, token }: TracedRange): Pick<TracedProjection, 'state' | 'why'> {
  if (paused) return { state: 'paused', why: 'It is paused, or shares its feed with one that is.' };
  if (read === null) return { state: 'not known', why: 'How far its range was read is not known.' };
  if (token === null) return { state: 'waiting', why: 'No host has started reading its container.' };
  if (owner === null)
    return { state: 'waiting', why: 'The last write waits in the feed, and no host reads its range.' };
  return { state: 'waiting', why: `The last write may wait in the feed; ${owner} reads its range.` };
}

const isFrom = (spec: Recording, body: Doc | undefined, { pipeline }: Seen): boolean =>
  body === undefined || isOfType(spec.from.type, typeRules(pipeline.sources, spec.from), body);

/** It reads other types of the container alone. */
function whyNotMeant(spec: Reader, body: Doc, { who, pipeline }: Seen): string | undefined {
  const read = sourcesOf(spec).filter((of) => of.container === who.container);
  if (read.some((of) => isOfType(of.type, typeRules(pipeline.sources, of), body))) return undefined;
  return `It reads ${read.map(({ type }) => type).join(', ')} of ${who.container}, and the document is of another type.`;
}

function eventsOf(document: TracedDocument['document'], letters: readonly DeadLetter[]): TracedEvent[] {
  return [
    ...(document ? [{ at: document.writtenAt, what: `written, ETag ${document.etag}` }] : []),
    ...letters.flatMap(({ projection, op, version, code, firstAt, lastAt, attempts }) => [
      { at: firstAt, what: `parked for ${projection} (${code}): ${op} at lsn ${version.lsn}` },
      ...(attempts > 1 ? [{ at: lastAt, what: `attempt ${attempts} for ${projection} failed (${code})` }] : []),
    ]),
  ].toSorted((a, b) => (a.at < b.at ? 1 : -1));
}

const timeOf = (body: Doc): string => new Date(Number(body['_ts']) * 1_000).toISOString();

/** Without the service's own fields. */
const visible = (body: Doc): Doc =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !/^_(rid|self|etag|attachments|ts|lsn)$/.test(name)));
