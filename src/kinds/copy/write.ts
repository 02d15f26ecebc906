import { sharedError } from '../../base/shared-errors.ts';
import type { MillraceError } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type CopySpec, projectionId, waitsFor } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess } from '../../access/document-access.ts';
import { refusalOf } from '../../access/size.ts';
import { changeDocument } from '../../access/change.ts';
import type { Guess } from '../create-first.ts';
import { compareUses, usesOf } from '../join-use.ts';
import { placeId } from '../locator.ts';
import { Poison, type Refusal } from '../runner.ts';
import type { SinkContainer } from '../sink-container.ts';
import { sameIdentity, stampOf, standing } from '../standing.ts';
import { TOMBSTONE, isCopyOf, tombstone } from './documents.ts';
import type { Placed } from './place.ts';
import { projectionsError } from '../errors.ts';

/** Copies that are written or need no write, and those whose joined state is older than that of the stored copy. */
export interface CopyWritten {
  readonly current: Placed[];
  readonly staleJoins: Placed[];
}

interface Placement extends Placed {
  /** The changes of the same page whose documents leave the place. */
  readonly after?: readonly Change[];
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
  const current: Placed[] = [];
  const staleJoins: Placed[] = [];
  const refusals: Refusal[] = [];
  await mapSettled(
    withoutRepeats(placed),
    async (one) => {
      const result = await writeCopy(target, one, access);
      if (result === 'current') current.push(one);
      else if (result === 'stale-join') staleJoins.push(one);
      else refusals.push({ change: one.change, error: result });
    },
    { concurrency: 512 },
  );
  if (refusals.length > 0) throw new Poison(refusals);
  return { current, staleJoins };
}

async function writeCopy(
  { spec, sink, guess }: CopyTarget,
  one: Placement,
  access: DocumentAccess,
): Promise<'current' | 'stale-join' | MillraceError> {
  let result: 'current' | 'stale-join' | MillraceError = 'current';
  let body: object = {};
  const of = {
    container: sink.name,
    key: one.key,
    id: one.id,
    what: `Copy ${sink.name}/${one.id}`,
    refused: (why: string) => {
      result = refusalOf(sink.name, body, why);
      return undefined;
    },
  };
  const decide = async (found: SinkDocument | undefined): Promise<object | undefined> => {
    const action = found ? await judge(spec, sink, one, found, access) : 'write';
    result = action === 'skip' || action === 'write' ? 'current' : action;
    return action === 'write' ? (body = documentOf(spec, sink, one)) : undefined;
  };
  await changeDocument(access, of, decide, (first, stored) => guess.read(first, stored));
  return result;
}

/** Whether this copy replaces the one in the sink. */
async function judge(
  spec: CopySpec,
  sink: SinkContainer,
  one: Placement,
  found: SinkDocument,
  access: DocumentAccess,
): Promise<'write' | 'skip' | 'stale-join' | MillraceError> {
  if (!isCopyOf(projectionId(spec), found)) return taken(sink, found);
  if (!sameIdentity(one.change, found._src)) {
    if (one.body === null) return 'skip';
    if (found.type === TOMBSTONE) return 'write';
    const leaves = one.after?.find((change) => sameIdentity(change, found._src));
    if (leaves && (await standing(leaves, found._src, access)) === 'newer') return 'write';
    return collision(`${sink.name}/${found.id}`, found._src);
  }
  const order = await standing(one.change, found._src, access);
  if (order === 'older') return 'skip';
  const joins = compareUses(one.joins, found._mr.joins);
  if (joins === 'older') return 'stale-join';
  if (order === 'newer') return 'write';
  // With a joined document the copy moves at one version of its source, and may come back.
  const moves = waitsFor(spec) && found._mr.joins !== undefined;
  return joins === 'newer' && (moves || (one.body !== null && found.type !== TOMBSTONE)) ? 'write' : 'skip';
}

function documentOf(spec: CopySpec, sink: SinkContainer, one: Placed): object {
  const projection = projectionId(spec);
  const joins = Object.keys(one.joins).length > 0 ? usesOf(one.joins) : undefined;
  if (one.body === null) return tombstone(sink, projection, one, one.change, waitsFor(spec) ? joins : undefined);
  const own = { by: projection, ...(joins && { joins }) };
  return { ...one.body, _src: stampOf(one.change), _mr: { ...formatOf('own'), ...own } };
}

/**
 * If two changes of a page have the same sink document, the second is refused, so that the result isn't random. The one
 * that takes a place which others leave writes over what they have there.
 */
function withoutRepeats(placed: readonly Placed[]): Placement[] {
  const refusals: Refusal[] = [];
  const once = [...Map.groupBy(placed, placeId).values()].flatMap((of): Placement[] => {
    const [live, ...others] = of.filter(({ body }) => body !== null);
    if (!live || of.length === 1) return of;
    for (const { change, id } of others) refusals.push({ change, error: collision(id, live.change) });
    return [{ ...live, after: of.filter(({ body }) => body === null).map(({ change }) => change) }];
  });
  if (refusals.length > 0) throw new Poison(refusals);
  return once;
}

const collision = (id: string, other: { readonly id: string }): MillraceError =>
  sharedError('collision', `Sink document ${id} is already the copy of ${other.id}`);

const taken = (sink: SinkContainer, found: SinkDocument): MillraceError =>
  projectionsError(
    'sink-occupied',
    `${sink.name} already has a document ${found.id} of type ${String(found['type'])} that this projection did not write`,
  );
