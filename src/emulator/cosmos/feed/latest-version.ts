import { shuffle } from '../../random.ts';
import type { StoredAccount } from '../storage/account.ts';
import { allVersions } from './all-versions.ts';
import { feedCharge } from '../time-and-charge/charge.ts';
import { wireBytesOf } from '../wire/bytes.ts';
import type { StoredContainer } from '../storage/container.ts';
import type { WireKey } from '../storage/keys.ts';
import { KeyLog } from '../storage/key-log.ts';
import type { StoredVersion } from '../storage/logical-partition.ts';
import type { PhysicalPartition } from '../storage/physical-partition.ts';
import { storedCovers, lsnIn, MAX_PAGE_BYTES, pageSize, storedTargetOf } from '../storage/target.ts';
import type { StoredTarget } from '../storage/target.ts';
import { feedHeaders, reply } from '../wire/reply.ts';
import { badRequest, header } from '../wire/wire.ts';
import type { WireCall, Reply } from '../wire/wire.ts';

/**
 * One page of the latest-version change feed of one physical partition: the newest state of every item whose newest
 * lsn is above the position. A page has whole lsn groups only, because the etag can only name an lsn.
 */
export function changeFeed(account: StoredAccount, call: WireCall, container: StoredContainer): Reply {
  const target = storedTargetOf(call, container);
  const [partition] = target.partitions;
  if (!partition || target.partitions.length > 1) {
    throw badRequest(
      'The change feed is read range by range: the request needs a partition key range id or a full key.',
    );
  }
  const size = pageSize(call);
  if (/full-fidelity/i.test(header(call.headers, 'a-im') ?? '')) {
    return allVersions(account, call, container, target, partition, size);
  }
  const { from, since } = start(call, container, partition);
  const page = read(account, container, target, partition, from, since, size);
  const headers = feedHeaders(container, partition, page.lsn, page.versions.length);
  if (page.versions.length === 0) return reply(304, 1, headers);
  return reply(200, feedCharge(page.bytes), headers, bodyOf(call, container, page.versions));
}

/** Where the page begins. An etag overrides a time, because the client sends the time with every request. */
function start(
  call: WireCall,
  container: StoredContainer,
  partition: PhysicalPartition,
): { from: number; since: number } {
  const etag = header(call.headers, 'if-none-match');
  if (etag === '*') return { from: partition.lsn, since: 0 };
  if (etag !== undefined && etag !== '') return { from: lsnIn(etag), since: 0 };
  const time = header(call.headers, 'if-modified-since');
  if (time === undefined) return { from: 0, since: 0 };
  if (container.merged) {
    throw badRequest(
      'A start from a time is not supported once physical partitions were merged: start from the beginning.',
    );
  }
  const since = Date.parse(time);
  if (Number.isNaN(since)) throw badRequest(`The start time '${time}' is malformed.`);
  return { from: 0, since };
}

/**
 * The documents with their lsn, which isn't stored in them: as a field, or beside them in the format of the all-versions
 * feed, which Java's processor requests here too (ASM-E70).
 */
function bodyOf(call: WireCall, container: StoredContainer, versions: readonly StoredVersion[]): Buffer {
  const apart = header(call.headers, 'x-ms-cosmos-changefeed-wire-format-version') !== undefined;
  const texts = [`{"_rid":"${container.rid}","Documents":[`];
  for (const { open, lsn, at } of versions) {
    if (apart) texts.push('{"current":', open, `},"metadata":{"lsn":${lsn},"crts":${Math.floor(at / 1000)}}}`, ',');
    else texts.push(open, `,"_lsn":${lsn}}`, ',');
  }
  texts[texts.length - 1] = `],"_count":${versions.length}}`;
  return wireBytesOf(texts);
}

interface Page {
  readonly versions: readonly StoredVersion[];
  readonly bytes: number;
  /** Everything up to this lsn has been delivered or no longer exists. */
  readonly lsn: number;
}

function read(
  account: StoredAccount,
  container: StoredContainer,
  target: StoredTarget,
  partition: PhysicalPartition,
  from: number,
  since: number,
  size: number,
): Page {
  const now = account.now();
  const everything = target.range.min <= partition.range.min && target.range.max >= partition.range.max;
  // The versions of one key are few among those of the partition.
  const own = target.key && logOf(account, container, target.key);
  const log = own?.versions ?? partition.log;
  const versions: StoredVersion[] = [];
  let bytes = 0;
  let at = own?.after(from, since) ?? partition.after(from);
  let group: StoredVersion[] = [];
  while (at < log.length) {
    const { lsn } = log[at]!;
    group = [];
    let weight = 0;
    for (; at < log.length && log[at]!.lsn === lsn; at++) {
      const version = log[at]!;
      if (version.item.current !== version || version.at < since || !container.isLive(version, now)) continue;
      if (!everything && !storedCovers(target, version.item.home)) continue;
      group.push(version);
      weight += version.size;
    }
    if (group.length === 0) continue;
    if (versions.length > 0 && (versions.length + group.length > size || bytes + weight > MAX_PAGE_BYTES)) {
      return { versions, bytes, lsn: lsn - 1 };
    }
    versions.push(...group);
    bytes += weight;
  }
  // A position ahead of the partition (a token of an earlier container of this name) isn't moved back.
  return { versions, bytes, lsn: Math.max(partition.lsn, from) };
}

function logOf(account: StoredAccount, container: StoredContainer, key: WireKey): KeyLog<StoredVersion> {
  const home = container.find(key);
  if (home?.log) return home.log;
  const versions = [...(home?.items.values() ?? [])].flatMap(({ current }) => current ?? []);
  if (account.faults.shuffleInLsn ?? true) shuffle(versions, account.random);
  const log = new KeyLog(versions);
  if (home) home.log = log;
  return log;
}
