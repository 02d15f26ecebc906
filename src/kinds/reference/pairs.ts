import { sharedError } from '../../base/shared-errors.ts';
import type { MillraceError } from '../../base/errors.ts';
import { formatOf } from '../../base/format.ts';
import { canonical, digest } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type ReferenceSpec, projectionId } from '../../pipeline/specs.ts';
import { type Key, type Version, compareVersions } from '../../feed/reading/change.ts';
import type { SinkDocument, DocumentAccess, Write } from '../../access/document-access.ts';
import { refusalOf } from '../../access/size.ts';
import { chunksOf } from '../chunks.ts';
import { untilDone } from '../../access/change.ts';
import { TOMBSTONE, isCopyOf, tombstone } from '../copy/documents.ts';
import { type SinkContainer, sinkKey } from '../sink-container.ts';
import { sameIdentity, stampOf } from '../standing.ts';
import type { ListedReference } from './lists.ts';
import { projectionsError } from '../errors.ts';

/** A reference document and a tenant. `side`: which of the two changed; its change is refused if the pair is. */
export interface ReferencePair {
  readonly data: ListedReference;
  readonly tenant: ListedReference;
  readonly side: 'data' | 'tenant';
}

export interface PairTarget {
  readonly spec: ReferenceSpec;
  readonly sink: SinkContainer;
}

export interface WrittenPairs {
  /** The copy is as new as the pair, or a newer change of the pair's `side` supersedes it. */
  readonly current: readonly ReferencePair[];
  readonly refused: readonly { readonly pair: ReferencePair; readonly error: MillraceError }[];
}

interface Placed {
  readonly pair: ReferencePair;
  readonly key: Key;
  readonly id: string;
}

/** What a copy stores about its tenant. */
interface TenantUse extends Pick<Version, 'epoch' | 'lsn' | 'etag'> {
  readonly ref: string;
}

/**
 * Writes the copies of pairs, or tombstones where one side is deleted, each on its own condition. A copy is replaced only
 * by one whose data *and* tenant are no older. A pair that was read too old is in neither list: read the list again.
 */
export async function writePairs(
  target: PairTarget,
  pairs: readonly ReferencePair[],
  access: DocumentAccess,
): Promise<WrittenPairs> {
  const current: ReferencePair[] = [];
  const refused: { pair: ReferencePair; error: MillraceError }[] = [];
  const placed: Placed[] = [];
  for (const pair of pairs) {
    // A document without a known part never had a copy.
    if (pair.data.part === null || pair.tenant.part === null) current.push(pair);
    else placed.push({ pair, ...referencePlaceOf(target, pair) });
  }
  const write = async (chunk: readonly Placed[]): Promise<void> => {
    const result = await writeChunk(target, chunk, access);
    current.push(...result.current);
    refused.push(...result.refused);
  };
  for (const round of withoutTwins(placed)) {
    const chunks = [...Map.groupBy(round, ({ key }) => canonical(key)).values()].flatMap((of) =>
      chunksOf(of, ({ pair }) => JSON.stringify(pair.data.part).length + 600),
    );
    await mapSettled(chunks, write, { concurrency: 16 });
  }
  return { current, refused };
}

/** Two pairs with the same place can't share a batch: the second must find what the first has written. */
function withoutTwins(placed: readonly Placed[]): Placed[][] {
  const met = new Map<string, number>();
  const rounds: Placed[][] = [];
  for (const one of placed) {
    const place = canonical([one.key, one.id]);
    const round = met.get(place) ?? 0;
    met.set(place, round + 1);
    (rounds[round] ??= []).push(one);
  }
  return rounds;
}

export function referencePlaceOf(
  { spec, sink }: PairTarget,
  { data, tenant }: Pick<ReferencePair, 'data' | 'tenant'>,
): { key: Key; id: string } {
  const body = { ...data.part, ...tenant.part, type: spec.into.type };
  return { key: sinkKey(sink, body), id: String(data.part?.['id']) };
}

async function writeChunk(target: PairTarget, chunk: readonly Placed[], access: DocumentAccess): Promise<WrittenPairs> {
  const { sink } = target;
  const [first] = chunk;
  if (!first) return { current: [], refused: [] };
  let current: ReferencePair[] = [];
  let refused: WrittenPairs['refused'][number][] = [];
  let rest = chunk;
  await untilDone(`Copies in ${sink.name}`, async () => {
    current = [];
    const found = await access.read(
      sink.name,
      first.key,
      rest.map(({ id }) => id),
    );
    const due: Placed[] = [];
    const writes: Write[] = [];
    for (const [index, one] of rest.entries()) {
      const stored = found[index];
      const action = stored ? judge(target, one, stored) : 'write';
      if (action === 'current') current.push(one.pair);
      else if (action === 'write') {
        due.push(one);
        const body = documentOf(target, one);
        writes.push(
          stored ? { op: 'replace', id: one.id, body, ifMatch: stored._etag } : { op: 'create', id: one.id, body },
        );
      } else if (action !== 'open') refused.push({ pair: one.pair, error: action });
    }
    const bad = new Set(refused.map(({ pair }) => pair));
    rest = rest.filter(({ pair }) => !bad.has(pair));
    if (writes.length === 0) return true;
    const answer = await access.commit(sink.name, first.key, writes);
    if (answer.kind === 'done') current.push(...due.map(({ pair }) => pair));
    const culprit = answer.kind === 'refused' ? due[answer.index] : undefined;
    if (answer.kind === 'refused' && culprit) {
      refused = [
        ...refused,
        { pair: culprit.pair, error: refusalOf(sink.name, documentOf(target, culprit), answer.why) },
      ];
      rest = rest.filter((one) => one !== culprit);
    }
    return answer.kind === 'done';
  });
  return { current, refused };
}

function judge(
  { spec, sink }: PairTarget,
  { pair }: Placed,
  found: SinkDocument,
): 'write' | 'current' | 'open' | MillraceError {
  const { data, tenant, side } = pair;
  if (!isCopyOf(projectionId(spec), found)) {
    const why = `${sink.name} already has a document ${found.id} of type ${String(found['type'])} that this projection did not write`;
    return projectionsError('sink-occupied', why);
  }
  const use = (found._mr as { tenant?: TenantUse }).tenant;
  const dead = found.type === TOMBSTONE;
  const gone = !data.present || !tenant.present;
  const otherData = !sameIdentity(data.of, found._src);
  const otherTenant = use?.ref !== refOf(tenant);
  if (otherData || otherTenant) {
    if (gone) return 'current';
    if (dead) return 'write';
    // Another pair has this place. Its own change was refused; the change of the other side must not be.
    if (side === 'data' ? !otherData : !otherTenant) return 'current';
    const why = `Sink document ${sink.name}/${found.id} is already the copy of ${found._src.id}, or belongs to another tenant`;
    const hint =
      'Return an id from `map` that contains the source’s partition key. Give each tenant its own value in the `key` field.';
    return sharedError('collision', why, { hint });
  }
  const byData = compareVersions(data.version, found._src);
  const byTenant = compareVersions(tenant.version, use);
  if (byData === 'older') return side === 'data' ? 'current' : 'open';
  if (byTenant === 'older') return side === 'tenant' ? 'current' : 'open';
  return byData === 'same' && byTenant === 'same' ? 'current' : 'write';
}

function documentOf({ spec, sink }: PairTarget, { pair, key, id }: Placed): object {
  const { data, tenant } = pair;
  const by = projectionId(spec);
  const { epoch, lsn, etag } = tenant.version;
  const own = { ...formatOf('own'), by, tenant: { ref: refOf(tenant), epoch, lsn, etag } satisfies TenantUse };
  const source = { ...data.of, version: data.version };
  if (!data.present || !tenant.present) return { ...tombstone(sink, by, { key, id }, source), _mr: own };
  return { ...data.part, ...tenant.part, id, type: spec.into.type, _src: stampOf(source), _mr: own };
}

const refOf = ({ of }: ListedReference): string => digest([of.container, of.key, of.id]);
