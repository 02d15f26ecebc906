// The documents of a random life, as its application knows them.
import { visible } from '../../src/pipeline/oracle/recompute.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { LEAVING_TTL_S } from '../../src/kinds/archive/leaving.ts';

/** As the application means it: without what the archive added. */
export function plain(doc: Doc): Doc {
  const { ttl, ...rest } = visible(doc);
  return ttl === undefined || ttl === LEAVING_TTL_S ? rest : { ...rest, ttl };
}

export const MORTAL_S = 50_000;
export const lsnIn = (headers: Readonly<Record<string, unknown>>): number =>
  Number(/#(\d+)/.exec(String(headers['x-ms-session-token']))?.[1] ?? Infinity);

export const tenantOf = (id: string): string => `t${Number(id.slice(1)) % 2}`;
