import { LEAVING_TTL_S } from '../../kinds/archive/leaving.ts';
import { remainingTtl } from '../migrate/copy.ts';

/**
 * The `ttl` with which a document expires when it would have expired without the write, seconds: a write restarts its time
 * to live (ASM-A4, ASM-F21). Undefined: it doesn't expire, and its `ttl` stays as it is. `now`: the service's time, milliseconds.
 */
export function ttlAfter(
  doc: Readonly<Record<string, unknown>>,
  defaultTtl: number | undefined,
  now: number,
): number | undefined {
  const left = remainingTtl(doc, defaultTtl, now);
  if (left === undefined) return undefined;
  // That number alone means that a document leaves for the archive.
  return left === LEAVING_TTL_S ? left - 1 : Math.max(1, left);
}
