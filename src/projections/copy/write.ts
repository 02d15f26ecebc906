import { MillraceError } from '../../base/errors.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type CopySpec, projectionId } from '../../definition/specs.ts';
import type { SinkDocument, SinkSession, Write } from '../../sinks/session.ts';
import { refusalOf } from '../../sinks/size.ts';
import { untilDone } from '../conflict.ts';
import type { Guess } from '../guess.ts';
import { placeId } from '../locator.ts';
import { Poison, type Refusal } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { sameIdentity, stampOf, standing } from '../stamp.ts';
import { type CopyDocument, TOMBSTONE, isCopyOf, isOlderUse, pending, tombstone } from './documents.ts';
import { type Placed, joinUses } from './place.ts';

/** What the write of a copy came to: `stale-join` means that a joined document's state in hand is older than the copy's. */
export interface Written {
  readonly settled: Placed[];
  readonly staleJoins: Placed[];
}

/** The copies of one projection, and whether they are likely to be new. */
export interface CopyTarget {
  readonly spec: CopySpec;
  readonly sink: SinkContainer;
  readonly guess: Guess;
}

/** Writes copies under the version guard (R7), each on its own condition; the session sends many in one request. */
export async function writeCopies(
  target: CopyTarget,
  placed: readonly Placed[],
  session: SinkSession,
): Promise<Written> {
  const settled: Placed[] = [];
  const staleJoins: Placed[] = [];
  const refusals: Refusal[] = [];
  await mapSettled(
    withoutRepeats(placed),
    async (one) => {
      const outcome = await writeCopy(target, one, session);
      if (outcome === 'settled') settled.push(one);
      else if (outcome === 'stale-join') staleJoins.push(one);
      else refusals.push({ change: one.change, error: outcome });
    },
    { concurrency: 512 },
  );
  if (refusals.length > 0) throw new Poison(refusals);
  return { settled, staleJoins };
}

async function writeCopy(
  { spec, sink, guess }: CopyTarget,
  one: Placed,
  session: SinkSession,
): Promise<'settled' | 'stale-join' | MillraceError> {
  const projection = projectionId(spec);
  let outcome: 'settled' | 'stale-join' | MillraceError = 'settled';
  await untilDone(`Copy ${sink.name}/${one.id}`, async (first) => {
    const found = await guess.read(first, async () => (await session.read(sink.name, one.key, [one.id]))[0]);
    const verdict = found ? await judge(projection, sink, one, found, session) : 'write';
    if (verdict !== 'write') {
      outcome = verdict === 'skip' ? 'settled' : verdict;
      return true;
    }
    const body = documentOf(projection, sink, one);
    const write: Write = found
      ? { op: 'replace', id: one.id, body, ifMatch: found._etag }
      : { op: 'create', id: one.id, body };
    const answer = await session.commit(sink.name, one.key, [write]);
    if (answer.kind === 'refused') outcome = refusalOf(sink.name, body, answer.why);
    return answer.kind !== 'conflict';
  });
  return outcome;
}

/** Whether the copy in the sink gives way to this one. */
async function judge(
  projection: string,
  sink: SinkContainer,
  one: Placed,
  found: SinkDocument,
  session: SinkSession,
): Promise<'write' | 'skip' | 'stale-join' | MillraceError> {
  if (!isCopyOf(projection, found)) return taken(sink, found);
  if (!sameIdentity(one.change, found._src)) {
    if (one.body === null) return 'skip';
    if (found.type === TOMBSTONE) return 'write';
    return collision(`${sink.name}/${found.id}`, found._src);
  }
  const order = await standing(one.change, found._src, session);
  if (order === 'older') return 'skip';
  const joins = compareJoins(one, found);
  if (joins === 'older') return 'stale-join';
  if (order === 'newer') return 'write';
  return one.body !== null && found.type !== TOMBSTONE && joins === 'newer' ? 'write' : 'skip';
}

/** How the joined states in hand stand to those the stored copy was made with, where both name the same document. */
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
  return { ...one.body, _src: stampOf(one.change), _mr: own };
}

/** Two changes of a page that want one sink document: the second is refused rather than left to chance. */
function withoutRepeats(placed: readonly Placed[]): Placed[] {
  const byPlace = new Map<string, Placed>();
  const refusals: Refusal[] = [];
  for (const one of placed) {
    const place = placeId(one);
    const before = byPlace.get(place);
    // A departed place and a live one of another document may coincide: the live one stays.
    if (!before || before.body === null) byPlace.set(place, one);
    else if (one.body !== null) refusals.push({ change: one.change, error: collision(one.id, before.change) });
  }
  if (refusals.length > 0) throw new Poison(refusals);
  return [...byPlace.values()];
}

const collision = (id: string, other: { readonly id: string }): MillraceError =>
  new MillraceError('sink-collision', `Sink document ${id} is already the copy of ${other.id}`, {
    mend: 'Make the id that map returns hold the source key as well as the source id.',
  });

const taken = (sink: SinkContainer, found: SinkDocument): MillraceError =>
  new MillraceError(
    'sink-occupied',
    `${sink.name} already has a document ${found.id} of type ${String(found['type'])} that this projection did not write`,
    { mend: 'Give the projection a type or a container of its own, or remove that document.' },
  );
