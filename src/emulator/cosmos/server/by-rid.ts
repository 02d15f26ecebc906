import type { StoredAccount } from '../storage/account.ts';
import type { WireCall } from '../wire/wire.ts';

/**
 * Replaces the resource ids in a call's path by names: Java's client uses resource ids to read a container's ranges. Such
 * a call is signed only for the id, in lower case (ASM-E68).
 */
export function byName(account: StoredAccount, call: WireCall): WireCall {
  const [root, first, kind, second, ...rest] = call.segments;
  if (root !== 'dbs' || first === undefined || account.databases.has(first)) return call;
  const database = withRid(account.databases, first);
  const container = database && second !== undefined ? withRid(database.containers, second) : undefined;
  if (container && database && kind !== undefined) {
    const segments = [root, database.id, kind, container.id, ...rest];
    return { ...call, segments, signedFor: container.rid.toLowerCase() };
  }
  if (!database || second !== undefined) return call;
  const segments = [root, database.id, ...call.segments.slice(2)];
  return { ...call, segments, signedFor: database.rid.toLowerCase() };
}

const withRid = <T extends { readonly rid: string }>(all: ReadonlyMap<string, T>, rid: string): T | undefined =>
  all.values().find((each) => each.rid === rid);
