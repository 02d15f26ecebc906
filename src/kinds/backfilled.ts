import { assertFormat, formatOf } from '../base/format.ts';
import { digest, isObject } from '../base/json.ts';

/** The mark `_mr.backfilled` of a document that an operator's backfill wrote last, until it changes. */
interface BackfilledMark {
  /** A digest of its content. After a change that keeps `_mr` the digest differs, so the mark no longer counts. */
  readonly digest: string;
}

/**
 * What `_mr` becomes when a backfill writes `doc` in place of `before`; both without system fields. Other marks stay. A
 * document that was restored from the archive still counts as restored.
 */
export function backfilledOwn(
  own: unknown,
  before: Record<string, unknown>,
  doc: Record<string, unknown>,
): Record<string, unknown> {
  const kept = isObject(own) ? own : {};
  const { restored } = kept;
  const mark: BackfilledMark = { digest: digest(doc) };
  const stays = isObject(restored) && restored['digest'] === digest(before);
  return {
    ...kept,
    ...formatOf('own'),
    ...(stays && { restored: { ...restored, ...mark } }),
    backfilled: mark,
  };
}

/**
 * Whether a stored document is unchanged since a backfill wrote it. `doc`: the same without system fields.
 * @throws FormatUnreadable
 */
export function isBackfilled(raw: Record<string, unknown>, doc: Record<string, unknown>): boolean {
  const own = raw['_mr'];
  if (!isObject(own) || !isObject(own['backfilled'])) return false;
  assertFormat('own', own['format'], raw['id']);
  return own['backfilled']['digest'] === digest(doc);
}
