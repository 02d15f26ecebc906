import type { StoredAccount } from '../storage/account.ts';
import { beginChanges } from '../feed/record-change.ts';
import { StoredContainer, newRanges } from '../storage/container.ts';
import { checkName, containerDefinition } from './definition.ts';
import type { StoredDatabase, Throughput } from '../storage/holdings.ts';
import { deleteByKey } from './key-delete.ts';
import type { KeyDefinition } from '../storage/keys.ts';
import { addOffer, dropOffer, offers } from './offers.ts';
import { throughputFor, throughputOf } from '../storage/throughput.ts';
import { containerHeaders, reply } from '../wire/reply.ts';
import { containerRid, databaseRid } from '../storage/rids.ts';
import { isQueryRequest, listResources, one, stamp } from './resource.ts';
import {
  conflict,
  flag,
  header,
  notAllowed,
  notFound,
  parseObject,
  preconditionFailed,
  WireError,
} from '../wire/wire.ts';
import type { WireCall, WireDoc, Reply } from '../wire/wire.ts';

const DEFAULT_THROUGHPUT: Throughput = { maximum: 400, autoscale: false };

/** Settings by which clients parse queries. The .NET client refuses an account without them (ASM-E65). */
const QUERY_ENGINE = {
  maxSqlQueryInputLength: 524_288,
  maxJoinsPerSqlQuery: 10,
  maxLogicalAndPerSqlQuery: 2_147_483_647,
  maxLogicalOrPerSqlQuery: 2_147_483_647,
  maxUdfRefPerSqlQuery: 10,
  maxInExpressionItemsCount: 2_147_483_647,
  queryMaxInMemorySortDocumentCount: -1000,
  maxQueryRequestTimeoutFraction: 0.9,
  sqlAllowNonFiniteNumbers: false,
  sqlAllowAggregateFunctions: true,
  sqlAllowSubQuery: true,
  sqlAllowScalarSubQuery: true,
  allowNewKeywords: true,
  sqlAllowLike: true,
  sqlAllowGroupByClause: true,
  sqlAllowTop: true,
  maxSpatialQueryCells: 2_147_483_647,
  spatialMaxGeometryPointCount: 256,
  sqlDisableOptimizationFlags: 0,
  enableSpatialIndexing: true,
};

/** `GET /`. With the id `localhost` or an empty list, the client would read this again before every call. */
export function accountInfo(call: WireCall, scheme: string): Reply {
  const endpoint = `${scheme}://${call.headers.host ?? 'localhost'}/`;
  const locations = [{ name: 'Embedded', databaseAccountEndpoint: endpoint }];
  const info = {
    id: 'millrace-emulator',
    _self: '',
    _rid: 'millrace-emulator',
    addresses: '//addresses/',
    media: '//media/',
    _dbs: '//dbs/',
    writableLocations: locations,
    readableLocations: locations,
    enableMultipleWriteLocations: false,
    userReplicationPolicy: { asyncReplication: false, minReplicaSetSize: 3, maxReplicasetSize: 4 },
    userConsistencyPolicy: { defaultConsistencyLevel: 'Session' },
    readPolicy: { primaryReadCoefficient: 1, secondaryReadCoefficient: 1 },
    queryEngineConfiguration: JSON.stringify(QUERY_ENGINE),
  };
  return reply(200, 0, {}, JSON.stringify(info));
}

/** Answers requests on databases, containers, their ranges and offers, which the client calls the control plane. */
export function resources(account: StoredAccount, call: WireCall): Reply {
  const { method, segments } = call;
  const [kind, name] = segments;
  if (kind === 'offers') return offers(account, call);
  if (kind !== 'dbs') throw notFound('Resource');
  if (name === undefined) {
    return method === 'POST' && !isQueryRequest(call)
      ? createDatabase(account, call)
      : listResources(call, 'Databases', [...account.databases.values()], '');
  }
  const database = account.databases.get(name);
  if (!database) throw notFound('Database');
  if (segments.length === 2) return oneDatabase(account, call, database);
  if (segments[2] !== 'colls') throw unsupported(segments[2]);
  if (segments.length === 3) {
    return method === 'POST' && !isQueryRequest(call)
      ? createContainer(account, call, database)
      : listResources(call, 'DocumentCollections', [...database.containers.values()], database.rid);
  }
  const container = database.containers.get(segments[3]!);
  if (!container) throw notFound('Container');
  if (segments.length === 4) return oneContainer(account, call, database, container);
  if (segments[4] === 'pkranges') return ranges(container, call);
  if (segments[4] === 'operations' && segments[5] === 'partitionkeydelete' && method === 'POST') {
    return deleteByKey(account, call, container);
  }
  throw unsupported(segments[4]);
}

const unsupported = (what: string | undefined): WireError =>
  new WireError(
    501,
    `The embedded server does not support '${String(what)}', only databases, containers, items, ranges and offers.`,
  );

function createDatabase(account: StoredAccount, call: WireCall): Reply {
  const body = parseObject(call.body);
  checkName(body.id);
  const { id } = body;
  if (account.databases.has(id)) throw conflict();
  const throughput = throughputOf(call);
  const rid = databaseRid(account.nextRid++);
  const definition = { ...stamp(account, { id }, rid, `dbs/${rid}/`), _colls: 'colls/', _users: 'users/' };
  const database: StoredDatabase = { id, rid, definition, containers: new Map() };
  account.databases.set(id, database);
  account.journal?.database(database);
  if (throughput) addOffer(account, rid, `dbs/${rid}/`, throughput);
  return one(201, definition);
}

function oneDatabase(account: StoredAccount, call: WireCall, database: StoredDatabase): Reply {
  if (call.method === 'GET') return one(200, database.definition);
  if (call.method !== 'DELETE') throw notAllowed(call);
  for (const container of database.containers.values()) dropContainer(account, database, container);
  account.databases.delete(database.id);
  dropOffer(account, database.rid);
  account.journal?.dropDatabase(database);
  return reply(204, 5, {});
}

function createContainer(account: StoredAccount, call: WireCall, database: StoredDatabase): Reply {
  const body = containerDefinition(withoutKey(call, parseObject(call.body)));
  const id = body.id as string;
  if (database.containers.has(id)) throw conflict();
  const shared = throughputFor(account, database.rid) !== undefined;
  const throughput = throughputOf(call) ?? (shared ? undefined : DEFAULT_THROUGHPUT);
  const container = addContainer(account, database, body, throughput);
  return one(201, container.definition, ownerHeaders(database));
}

/** Creates an empty container with a new resource id. */
export function addContainer(
  account: StoredAccount,
  database: StoredDatabase,
  body: WireDoc,
  throughput: Throughput | undefined,
): StoredContainer {
  const id = body.id as string;
  const rid = containerRid(database.rid, account.nextRid++);
  const self = `dbs/${database.rid}/colls/${rid}/`;
  const definition = withLinks(stamp(account, body, rid, self));
  const initial = newRanges(throughput?.maximum ?? 0, (body.partitionKey as KeyDefinition).version);
  const container = new StoredContainer(id, rid, `dbs/${database.id}/colls/${id}`, self, definition, initial, 1);
  database.containers.set(id, container);
  account.journal?.container(database, container);
  if (throughput) addOffer(account, rid, self, throughput);
  return container;
}

/** Before the API version of late 2018 a container needed no key. The service gives such a container a system key. */
function withoutKey(call: WireCall, body: WireDoc): WireDoc {
  if (body.partitionKey !== undefined || (header(call.headers, 'x-ms-version') ?? '') >= '2018-12-31') return body;
  return { ...body, partitionKey: { paths: ['/_partitionKey'], kind: 'Hash', version: 1, systemKey: true } };
}

function oneContainer(
  account: StoredAccount,
  call: WireCall,
  database: StoredDatabase,
  container: StoredContainer,
): Reply {
  if (call.method === 'GET') {
    const asked = flag(call.headers, 'x-ms-documentdb-populatequotainfo');
    return one(200, container.definition, {
      ...ownerHeaders(database),
      ...indexProgress(container),
      ...(asked ? quota(container) : {}),
    });
  }
  if (call.method === 'DELETE') {
    dropContainer(account, database, container);
    return reply(204, 5, {});
  }
  if (call.method !== 'PUT') throw notAllowed(call);
  const ifMatch = header(call.headers, 'if-match');
  if (ifMatch !== undefined && ifMatch !== '*' && ifMatch !== container.definition._etag) throw preconditionFailed();
  const body = containerDefinition(parseObject(call.body), container.definition);
  const kept = container.allVersions;
  container.definition = withLinks(stamp(account, body, container.rid, container.self));
  container.indexes.clear();
  if (container.allVersions && !kept) beginChanges(container.ranges);
  account.journal?.container(database, container);
  return one(200, container.definition, ownerHeaders(database));
}

/** The names of the database, in answers about its containers: Java's client makes its links of them (ASM-E69). */
const ownerHeaders = ({ id, rid }: StoredDatabase): Record<string, string> => ({
  'x-ms-content-path': rid,
  'x-ms-alt-content-path': encodeURI(`dbs/${id}`),
});

/** Indexes are updated with each write, so they are always complete. */
function indexProgress({ definition }: StoredContainer): Record<string, string> {
  const { indexingMode } = definition.indexingPolicy as WireDoc;
  const lazy = indexingMode === 'lazy' ? { 'x-ms-documentdb-collection-lazy-indexing-progress': '100' } : {};
  return { 'x-ms-documentdb-collection-index-transformation-progress': '100', ...lazy };
}

/** Sizes in KB. The service reports 10 GB for a container of one physical partition. */
function quota(container: StoredContainer): Record<string, string> {
  const versions = container.ranges.flatMap(({ log }) => log).filter((version) => version.item.current === version);
  const kilobytes = Math.ceil(versions.reduce((sum, { size }) => sum + size, 0) / 1024);
  const of = (size: number, documents: number, limit: number): string =>
    `functions=0;storedProcedures=0;triggers=0;documentSize=0;documentsSize=${size};documentsCount=${documents};collectionSize=${limit}`;
  return {
    'x-ms-resource-quota': of(10 * 1024 * 1024, -1, 10 * 1024 * 1024),
    'x-ms-resource-usage': of(kilobytes, versions.length, kilobytes),
  };
}

const withLinks = (definition: WireDoc): WireDoc => ({
  ...definition,
  _docs: 'docs/',
  _sprocs: 'sprocs/',
  _triggers: 'triggers/',
  _udfs: 'udfs/',
  _conflicts: 'conflicts/',
});

/** Drops a container. It is kept for `historyMs`, so that it can be restored. */
export function dropContainer(account: StoredAccount, database: StoredDatabase, container: StoredContainer): void {
  const { historyMs = 0 } = account.faults;
  const at = account.now();
  for (const [name, dropped] of account.dropped) if (dropped.at < at - historyMs) account.dropped.delete(name);
  if (historyMs > 0) {
    const throughput = throughputFor(account, container.rid);
    account.dropped.set(`${database.id}/${container.id}`, { container, throughput, at });
  }
  database.containers.delete(container.id);
  dropOffer(account, container.rid);
  account.journal?.dropContainer(container);
}

/** All ranges or, as a feed, those that are newer than the client's: the ids of ranges are never used again (ASM-E67). */
function ranges(container: StoredContainer, call: WireCall): Reply {
  const feed = header(call.headers, 'a-im') !== undefined;
  const newest = Math.max(...container.ranges.map(({ id }) => Number(id)));
  const etag = feed ? `"${container.rid}:${newest}"` : String(container.definition._etag);
  const [rid, seen] = (header(call.headers, 'if-none-match') ?? '').replaceAll('"', '').split(':');
  const last = feed && rid === container.rid ? Number(seen) : -1;
  if (last === newest) return reply(304, 1, { ...containerHeaders(container), etag });
  const wanted = container.ranges.filter(({ id }) => Number(id) > last);
  const texts = wanted.map(({ id, range, parents }) =>
    JSON.stringify({
      _rid: `${container.rid}-${id}`,
      id,
      _etag: container.definition._etag,
      minInclusive: range.min,
      maxExclusive: range.max,
      ridPrefix: Number(id),
      _self: `${container.self}pkranges/${id}/`,
      throughputFraction: 1 / container.ranges.length,
      status: 'online',
      parents,
      _ts: container.definition._ts,
    }),
  );
  const headers = {
    ...containerHeaders(container),
    'x-ms-item-count': String(texts.length),
    etag,
  };
  return reply(
    200,
    1,
    headers,
    `{"_rid":"${container.rid}","PartitionKeyRanges":[${texts.join(',')}],"_count":${texts.length}}`,
  );
}
