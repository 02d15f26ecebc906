import { MillraceError } from '../../base/errors.ts';
import { canonical, digest } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type ReferenceSpec, projectionId } from '../../definition/specs.ts';
import { type Key, type Version, compareVersions } from '../../feed/reading/change.ts';
import type { SinkDocument, SinkSession, Write } from '../../sinks/session.ts';
import { refusalOf } from '../../sinks/size.ts';
import { chunksOf } from '../chunks.ts';
import { untilDone } from '../conflict.ts';
import { TOMBSTONE, isCopyOf, tombstone } from '../copy/documents.ts';
import { type SinkContainer, sinkKey } from '../sink-container.ts';
import { sameIdentity, stampOf } from '../stamp.ts';
import type { Listed } from './lists.ts';

/** A piece of reference data and a tenant; `side`: which of the two changed, so that its writer is answerable. */
export interface Pair {
  readonly data: Listed;
  readonly tenant: Listed;
  readonly side: 'data' | 'tenant';
}

export interface PairTarget {
  readonly spec: ReferenceSpec;
  readonly sink: SinkContainer;
}

export interface Outcome {
  /** As new as the pair, or superseded by somebody else's newer change of the answerable side. */
  readonly settled: readonly Pair[];
  readonly refused: readonly { readonly pair: Pair; readonly error: MillraceError }[];
}

interface Placed {
  readonly pair: Pair;
  readonly key: Key;
  readonly id: string;
}

/** What a copy remembers of its tenant. */
interface TenantUse extends Pick<Version, 'epoch' | 'lsn' | 'etag'> {
  readonly ref: string;
}

/**
 * Writes the copies of pairs, or tombstones where either side is gone, each on its own condition. A copy only ever gives
 * way to one whose data *and* tenant are no older; what was listed too old is left open, for the next look at the list.
 */
export async function writePairs(target: PairTarget, pairs: readonly Pair[], session: SinkSession): Promise<Outcome> {
  const settled: Pair[] = [];
  const refused: { pair: Pair; error: MillraceError }[] = [];
  const placed: Placed[] = [];
  for (const pair of pairs) {
    // Nothing was ever copied of what was never known.
    if (pair.data.part === null || pair.tenant.part === null) settled.push(pair);
    else placed.push({ pair, ...placeOf(target, pair) });
  }
  const write = async (chunk: readonly Placed[]): Promise<void> => {
    const result = await writeChunk(target, chunk, session);
    settled.push(...result.settled);
    refused.push(...result.refused);
  };
  for (const round of withoutTwins(placed)) {
    const chunks = [...Map.groupBy(round, ({ key }) => canonical(key)).values()].flatMap((of) =>
      chunksOf(of, ({ pair }) => JSON.stringify(pair.data.part).length + 600),
    );
    await mapSettled(chunks, write, { concurrency: 16 });
  }
  return { settled, refused };
}

/** Two that want one place can't share a batch: the second is to meet what the first has written. */
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

export function placeOf(
  { spec, sink }: PairTarget,
  { data, tenant }: Pick<Pair, 'data' | 'tenant'>,
): { key: Key; id: string } {
  const body = { ...data.part, ...tenant.part, type: spec.into.type };
  return { key: sinkKey(sink, body), id: String(data.part?.['id']) };
}

async function writeChunk(target: PairTarget, chunk: readonly Placed[], session: SinkSession): Promise<Outcome> {
  const { sink } = target;
  const [first] = chunk;
  if (!first) return { settled: [], refused: [] };
  let settled: Pair[] = [];
  let refused: Outcome['refused'][number][] = [];
  let rest = chunk;
  await untilDone(`Copies in ${sink.name}`, async () => {
    settled = [];
    const found = await session.read(
      sink.name,
      first.key,
      rest.map(({ id }) => id),
    );
    const due: Placed[] = [];
    const writes: Write[] = [];
    for (const [index, one] of rest.entries()) {
      const stored = found[index];
      const verdict = stored ? judge(target, one, stored) : 'write';
      if (verdict === 'settled') settled.push(one.pair);
      else if (verdict === 'write') {
        due.push(one);
        const body = documentOf(target, one);
        writes.push(
          stored ? { op: 'replace', id: one.id, body, ifMatch: stored._etag } : { op: 'create', id: one.id, body },
        );
      } else if (verdict !== 'open') refused.push({ pair: one.pair, error: verdict });
    }
    const bad = new Set(refused.map(({ pair }) => pair));
    rest = rest.filter(({ pair }) => !bad.has(pair));
    if (writes.length === 0) return true;
    const answer = await session.commit(sink.name, first.key, writes);
    if (answer.kind === 'done') settled.push(...due.map(({ pair }) => pair));
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
  return { settled, refused };
}

function judge(
  { spec, sink }: PairTarget,
  { pair }: Placed,
  found: SinkDocument,
): 'write' | 'settled' | 'open' | MillraceError {
  const { data, tenant, side } = pair;
  if (!isCopyOf(projectionId(spec), found)) {
    const why = `${sink.name} already has a document ${found.id} of type ${String(found['type'])} that this projection did not write`;
    const mend = 'Give the projection a type or a container of its own, or remove that document.';
    return new MillraceError('sink-occupied', why, { mend });
  }
  const use = (found._mr as { tenant?: TenantUse }).tenant;
  const dead = found.type === TOMBSTONE;
  const gone = !data.present || !tenant.present;
  const otherData = !sameIdentity(data.of, found._src);
  const otherTenant = use?.ref !== refOf(tenant);
  if (otherData || otherTenant) {
    if (gone) return 'settled';
    if (dead) return 'write';
    // Of two that want one place the second was refused by its own change: its counterpart isn't to blame.
    if (side === 'data' ? !otherData : !otherTenant) return 'settled';
    const why = `Sink document ${sink.name}/${found.id} is already the copy of ${found._src.id}, or another tenant's`;
    const mend = 'Let the id that map returns hold the source key, and the key field tell the tenants apart.';
    return new MillraceError('sink-collision', why, { mend });
  }
  const byData = compareVersions(data.version, found._src);
  const byTenant = compareVersions(tenant.version, use);
  if (byData === 'older') return side === 'data' ? 'settled' : 'open';
  if (byTenant === 'older') return side === 'tenant' ? 'settled' : 'open';
  return byData === 'same' && byTenant === 'same' ? 'settled' : 'write';
}

function documentOf({ spec, sink }: PairTarget, { pair, key, id }: Placed): object {
  const { data, tenant } = pair;
  const by = projectionId(spec);
  const { epoch, lsn, etag } = tenant.version;
  const own = { by, tenant: { ref: refOf(tenant), epoch, lsn, etag } satisfies TenantUse };
  const source = { ...data.of, version: data.version };
  if (!data.present || !tenant.present) return { ...tombstone(sink, by, { key, id }, source), _mr: own };
  return { ...data.part, ...tenant.part, id, type: spec.into.type, _src: stampOf(source), _mr: own };
}

const refOf = ({ of }: Listed): string => digest([of.container, of.key, of.id]);
