import type { StoredAccount } from '../storage/account.ts';
import { queryDefinitions } from '../query/query.ts';
import { reply } from '../wire/reply.ts';
import { flag } from '../wire/wire.ts';
import type { WireCall, WireDoc, Reply } from '../wire/wire.ts';

// Shared by databases, containers and offers: definitions with system fields, and the answers for one and for a list.

export const isQueryRequest = (call: WireCall): boolean => flag(call.headers, 'x-ms-documentdb-isquery');

export function listResources(
  call: WireCall,
  name: string,
  found: readonly { definition: WireDoc }[],
  rid: string,
): Reply {
  const definitions = found.map(({ definition }) => definition);
  const texts = isQueryRequest(call)
    ? queryDefinitions(call.body, definitions)
    : definitions.map((each) => JSON.stringify(each));
  const headers = { 'x-ms-item-count': String(texts.length) };
  return reply(200, 2, headers, `{"_rid":"${rid}","${name}":[${texts.join(',')}],"_count":${texts.length}}`);
}

export function stamp(account: StoredAccount, definition: WireDoc, rid: string, self: string): WireDoc {
  return { ...definition, _rid: rid, _self: self, _etag: account.etag(), _ts: Math.floor(account.now() / 1000) };
}

export function one(status: number, definition: WireDoc, headers: Record<string, string> = {}): Reply {
  return reply(
    status,
    status === 200 ? 1 : 5,
    { ...headers, etag: String(definition._etag) },
    JSON.stringify(definition),
  );
}
