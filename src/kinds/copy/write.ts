import { sharedError } from '../../base/shared-errors.ts';
import type { MillraceError } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type CopySpec, projectionId } from '../../pipeline/specs.ts';
import type { SinkDocument, DocumentAccess, Write } from '../../access/document-access.ts';
import { refusalOf } from '../../access/size.ts';
import { untilDone } from '../conflict.ts';
import type { Guess } from '../create-first.ts';
import { placeId } from '../locator.ts';
import { Poison, type Refusal } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { sameIdentity, stampOf, standing } from '../stamp.ts';
import { type CopyDocument, TOMBSTONE, isCopyOf, isOlderUse, pending, tombstone } from './documents.ts';
import { type Placed, joinUses } from './place.ts';
import { projectionsError } from '../errors.ts';

/** Copies that are written or need no write, and those whose joined state is older than that of the stored copy. */
export interface CopyWritten {
  readonly settled: Placed[];
  readonly staleJoins: Placed[];
}

/** The copies of one projection, and whether they are likely to be new. */
export interface CopyTarget {
  readonly spec: CopySpec;
  readonly sink: SinkContainer;
  readonly guess: Guess;
}

/**
 * Writes copies under the version guard (COPY-C1), each on its own condition; the access sends many in one request.
 */
export async function writeCopies(
  target: CopyTarget,
  placed: readonly Placed[],
  access: DocumentAccess,
): Promise<CopyWritten> {
  const settled: Placed[] = [];
  const staleJoins: Placed[] = [];
  const refusals: Refusal[] = [];
  await mapSettled(
    withoutRepeats(placed),
    async (one) => {
      const result = await writeCopy(target, one, access);
      if (result === 'settled') settled.push(one);
      else if (result === 'stale-join') staleJoins.push(one);
      else refusals.push({ change: one.change, error: result });
    },
    { concurrency: 512 },
  );
  if (refusals.length > 0) throw new Poison(refusals);
  return { settled, staleJoins };
}

async function writeCopy(
  { spec, sink, guess }: CopyTarget,
  one: Placed,
  access: DocumentAccess,
): Promise<'settled' | 'stale-join' | MillraceError> {
  const projection = projectionId(spec);
  let result: 'settled' | 'stale-join' | MillraceError = 'settled';
  await untilDone(`Copy ${sink.name}/${one.id}`, async (first) => {
    const found = await guess.read(first, async () => (await access.read(sink.name, one.key, [one.id]))[0]);
    const action = found ? await judge(projection, sink, one, found, access) : 'write';
    if (action !== 'write') {
      result = action === 'skip' ? 'settled' : action;
      return true;
    }
    const body = documentOf(projection, sink, one);
    const write: Write = found
      ? { op: 'replace', id: one.id, body, ifMatch: found._etag }
      : { op: 'create', id: one.id, body };
    const answer = await access.commit(sink.name, one.key, [write]);
    if (answer.kind === 'refused') result = refusalOf(sink.name, body, answer.why);
    return answer.kind !== 'conflict';
  });
  return result;
}

/** Whether this copy replaces the one in the sink. */
async function judge(
  projection: string,
  sink: SinkContainer,
  one: Placed,
  found: SinkDocument,
  access: DocumentAccess,
): Promise<'write' | 'skip' | 'stale-join' | MillraceError> {
  if (!isCopyOf(projection, found)) return taken(sink, found);
  if (!sameIdentity(one.change, found._src)) {
    if (one.body === null) return 'skip';
    if (found.type === TOMBSTONE) return 'write';
    return collision(`${sink.name}/${found.id}`, found._src);
  }
  const order = await standing(one.change, found._src, access);
  if (order === 'older') return 'skip';
  const joins = compareJoins(one, found);
  if (joins === 'older') return 'stale-join';
  if (order === 'newer') return 'write';
  return one.body !== null && found.type !== TOMBSTONE && joins === 'newer' ? 'write' : 'skip';
}

/** Compares the joined states with those of the stored copy, for joins that name the same document in both. */
function compareJoins(one: Placed, found: CopyDocument): 'older' | 'same' | 'newer' {
  let changed = false;
  for (const [name, state] of Object.entries(one.joins)) {
    const before = found._mr.joins?.[name];
    if (before?.ref === state.ref && isOlderUse(state, before)) return 'older';
    if (before?.ref !== state.ref || before.mark !== state.mark) changed = true;
  }
  return changed ? 'newer' : 'same';
}

function documentOf(projection: string, sink: SinkContainer, one: Placed): object {
  if (one.body === null) return tombstone(sink, projection, one, one.change);
  const joins = joinUses(one.joins);
  if (one.waits) return pending(sink, projection, one, one.change, joins);
  const own = Object.keys(one.joins).length > 0 ? { by: projection, joins } : { by: projection };
  return { ...one.body, _src: stampOf(one.change), _mr: { ...formatOf('own'), ...own } };
}

/** If two changes of a page have the same sink document, the second is refused, so that the result isn't random. */
function withoutRepeats(placed: readonly Placed[]): Placed[] {
  const byPlace = new Map<string, Placed>();
  const refusals: Refusal[] = [];
  for (const one of placed) {
    const place = placeId(one);
    const before = byPlace.get(place);
    // A departed place may be the live place of another document: the live one stays.
    if (!before || before.body === null) byPlace.set(place, one);
    else if (one.body !== null) refusals.push({ change: one.change, error: collision(one.id, before.change) });
  }
  if (refusals.length > 0) throw new Poison(refusals);
  return [...byPlace.values()];
}

const collision = (id: string, other: { readonly id: string }): MillraceError =>
  sharedError('collision', `Sink document ${id} is already the copy of ${other.id}`);

const taken = (sink: SinkContainer, found: SinkDocument): MillraceError =>
  projectionsError(
    'sink-occupied',
    `${sink.name} already has a document ${found.id} of type ${String(found['type'])} that this projection did not write`,
  );
