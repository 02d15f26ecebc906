import { batch } from './batch.ts';
import type { StoredContainer } from '../storage/container.ts';
import { changeFeed } from '../feed/latest-version.ts';
import { perform, read } from './operations.ts';
import type { ItemOperation, ItemOperationResult } from './operations.ts';
import { containerHeaders, itemHeaders, reply } from '../wire/reply.ts';
import type { Queries } from '../query/query.ts';
import { queryPlan } from '../query/query-plan.ts';
import type { StoredAccount } from '../storage/account.ts';
import { Transaction } from './transaction.ts';
import { storedHomeOf } from '../storage/target.ts';
import { Replica } from '../storage/replica.ts';
import { flag, header, notAllowed, parseJson, parseObject, bodyText, wireTooLarge, WireError } from '../wire/wire.ts';
import type { WireCall, Reply } from '../wire/wire.ts';

const MAX_BODY_BYTES = 2 * 1024 * 1024;

/** Answers all requests under `/dbs/{d}/colls/{c}/docs`. */
export function items(account: StoredAccount, queries: Queries, call: WireCall, container: StoredContainer): Reply {
  try {
    const id = call.segments[5];
    return id === undefined ? feed(account, queries, call, container) : item(account, call, container, id);
  } catch (error) {
    if (error instanceof WireError) Object.assign(error.headers, containerHeaders(container));
    throw error;
  }
}

function feed(account: StoredAccount, queries: Queries, call: WireCall, container: StoredContainer): Reply {
  const { headers, method } = call;
  if (method === 'GET') {
    return headers['a-im'] === undefined
      ? queries.page(call, container, undefined)
      : changeFeed(account, call, container);
  }
  if (method !== 'POST') throw notAllowed(call);
  if (flag(headers, 'x-ms-cosmos-is-batch-request')) return batch(account, call, container);
  if (flag(headers, 'x-ms-cosmos-is-query-plan-request')) return queryPlan(call, container);
  if (flag(headers, 'x-ms-documentdb-isquery') || headers['content-type'] === 'application/query+json') {
    return queries.page(call, container, call.body);
  }
  const type = flag(headers, 'x-ms-documentdb-is-upsert') ? 'Upsert' : 'Create';
  return write(account, call, container, { type, body: document(call) });
}

function item(account: StoredAccount, call: WireCall, container: StoredContainer, id: string): Reply {
  switch (call.method) {
    case 'GET':
      return point(account, call, container, id);
    case 'PUT':
      return write(account, call, container, { type: 'Replace', id, body: document(call) });
    case 'PATCH':
      return write(account, call, container, { type: 'Patch', id, body: parseJson(bodyText(call.body)) });
    case 'DELETE':
      return write(account, call, container, { type: 'Delete', id });
    default:
      throw notAllowed(call);
  }
}

function point(account: StoredAccount, call: WireCall, container: StoredContainer, id: string): Reply {
  const home = storedHomeOf(container, header(call.headers, 'x-ms-documentdb-partitionkey'));
  const replica = new Replica(account, container, header(call.headers, 'x-ms-session-token'));
  const range = container.rangeOf(home.epk);
  replica.demand(range);
  const token = replica.sessionToken([range]);
  return withToken(token, () => {
    const result = read(replica.read(home, id), header(call.headers, 'if-none-match'));
    return answer(call, { ...containerHeaders(container), 'x-ms-session-token': token }, result);
  });
}

function write(account: StoredAccount, call: WireCall, container: StoredContainer, operation: ItemOperation): Reply {
  refuseTriggers(call);
  const key = header(call.headers, 'x-ms-documentdb-partitionkey');
  const body = operation.body as Record<string, unknown> | undefined;
  const inBody =
    key === undefined && (operation.type === 'Create' || operation.type === 'Upsert' || operation.type === 'Replace');
  const home = inBody ? container.open(container.keys.of(body!)) : storedHomeOf(container, key);
  const tx = new Transaction(account, container, home);
  return withToken(itemHeaders(container, [tx.range])['x-ms-session-token']!, () => {
    const result = perform(tx, {
      ...operation,
      ifMatch: header(call.headers, 'if-match'),
      ifNoneMatch: header(call.headers, 'if-none-match'),
    });
    tx.commit();
    return answer(call, itemHeaders(container, [tx.range]), result);
  });
}

/** Refuses triggers: the server doesn't run them, and without an error the client would assume that it did. */
function refuseTriggers({ headers }: WireCall): void {
  const named = headers['x-ms-documentdb-pre-trigger-include'] ?? headers['x-ms-documentdb-post-trigger-include'];
  if (named === undefined) return;
  throw new WireError(501, 'The embedded server does not run triggers, and this request names one.');
}

/** Adds the session token to errors too: the client stores it for 404, 409 and 412. */
function withToken(token: string, work: () => Reply): Reply {
  try {
    return work();
  } catch (error) {
    if (error instanceof WireError) error.headers['x-ms-session-token'] = token;
    throw error;
  }
}

function answer(call: WireCall, headers: Record<string, string>, result: ItemOperationResult): Reply {
  if (result.etag !== undefined) headers.etag = result.etag;
  const minimal = call.method !== 'GET' && header(call.headers, 'prefer') === 'return=minimal';
  return reply(result.status, result.charge, headers, minimal ? '' : result.text);
}

function document(call: WireCall): Record<string, unknown> {
  if (call.body.length > MAX_BODY_BYTES) throw wireTooLarge();
  return parseObject(call.body);
}
