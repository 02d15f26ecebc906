import { first } from '../../search.ts';
import type { StoredAccount } from '../storage/account.ts';
import { feedCharge } from '../time-and-charge/charge.ts';
import { wireListOf } from '../wire/bytes.ts';
import { forgetOld } from './record-change.ts';
import type { StoredContainer } from '../storage/container.ts';
import type { StoredChange, PhysicalPartition } from '../storage/physical-partition.ts';
import { storedCovers, lsnIn, MAX_PAGE_BYTES } from '../storage/target.ts';
import type { StoredTarget } from '../storage/target.ts';
import { feedHeaders, reply } from '../wire/reply.ts';
import { badRequest, header } from '../wire/wire.ts';
import type { WireCall, WireDoc, Reply } from '../wire/wire.ts';

/** One page of the all-versions-and-deletes feed, from now or from a continuation. A page never ends between changes with the same lsn. */
export function allVersions(
  account: StoredAccount,
  call: WireCall,
  container: StoredContainer,
  target: StoredTarget,
  partition: PhysicalPartition,
  size: number,
): Reply {
  if (!container.allVersions) {
    throw badRequest(
      "The all-versions-and-deletes change feed needs a container with a 'changeFeedPolicy' whose 'retentionDuration' (minutes) is above 0.",
    );
  }
  forgetOld(account, container);
  const from = start(call, partition);
  const texts: string[] = [];
  let bytes = 0;
  let lsn = Math.max(partition.lsn, from);
  for (const group of groups(partition.changes, from)) {
    const wanted = group.filter(({ home }) => storedCovers(target, home)).map((change) => text(container, change));
    if (wanted.length === 0) continue;
    const weight = wanted.reduce((sum, each) => sum + each.length, 0);
    if (texts.length > 0 && (texts.length + wanted.length > size || bytes + weight > MAX_PAGE_BYTES)) {
      lsn = group[0]!.lsn - 1;
      break;
    }
    texts.push(...wanted);
    bytes += weight;
  }
  const headers = feedHeaders(container, partition, lsn, texts.length);
  if (texts.length === 0) return reply(304, 1, headers);
  const body = wireListOf(`{"_rid":"${container.rid}","Documents":[`, texts, `],"_count":${texts.length}}`);
  return reply(200, feedCharge(bytes), headers, body);
}

function start(call: WireCall, partition: PhysicalPartition): number {
  const etag = header(call.headers, 'if-none-match');
  if (etag === '*') return partition.lsn;
  const lsn = etag === undefined || etag === '' ? undefined : lsnIn(etag);
  if (lsn !== undefined && lsn >= partition.forgottenLsn) return lsn;
  throw badRequest(
    'You must read the change feed from within the retention period. Start from now, or from a continuation that is younger than the retention.',
  );
}

function* groups(changes: readonly StoredChange[], from: number): Generator<StoredChange[], void> {
  let end = first(changes.length, (at) => changes[at]!.lsn > from);
  while (end < changes.length) {
    const { lsn } = changes[end]!;
    const begin = end;
    while (end < changes.length && changes[end]!.lsn === lsn) end++;
    yield changes.slice(begin, end);
  }
}

function text(container: StoredContainer, change: StoredChange): string {
  const metadata: WireDoc = { operationType: change.kind, lsn: change.lsn, crts: Math.floor(change.at / 1000) };
  if (change.previousLsn !== undefined) metadata.previousImageLSN = change.previousLsn;
  if (change.kind === 'delete') {
    metadata.timeToLiveExpired = change.expired;
    metadata.id = change.id;
    const names = container.keys.steps.map((steps) => steps.at(-1)!);
    metadata.partitionKey = Object.fromEntries(names.map((name, i) => [name, change.home.key[i]]));
  }
  const parts = [`"metadata":${JSON.stringify(metadata)}`];
  if (change.current !== undefined) parts.unshift(`"current":${change.current}`);
  if (change.previous !== undefined) parts.push(`"previous":${change.previous}`);
  return `{${parts.join(',')}}`;
}
