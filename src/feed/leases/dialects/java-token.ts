import { isObject } from '../../../base/json.ts';
import type { FeedRange } from '../../../cosmos/ranges.ts';
import type { FeedMode } from '../../reading/source.ts';

/** The continuation of Java's epk leases: the state of a feed over one range, as Base64 of JSON. */
export interface JavaState {
  readonly rid: string | undefined;
  readonly mode: FeedMode;
  /** Quoted LSN; absent: the feed has not been read yet. */
  readonly position?: string;
}

/** Undefined if the text is not such a state, or has several ranges, which a Java lease never has. */
export function parseJavaState(text: string): JavaState | undefined {
  const state = decode(text);
  if (!isObject(state) || state['V'] !== 1) return undefined;
  const mode = MODES.get(state['Mode']);
  if (mode === undefined) return undefined;
  const rid = typeof state['Rid'] === 'string' ? state['Rid'] : undefined;
  const outer = state['Continuation'];
  if (outer === undefined || outer === null) return { rid, mode };
  const entries: unknown = isObject(outer) ? outer['Continuation'] : undefined;
  if (!Array.isArray(entries) || entries.length !== 1 || !isObject(entries[0])) return undefined;
  const token: unknown = entries[0]['token'];
  if (token === undefined || token === null) return { rid, mode };
  return typeof token === 'string' && token.startsWith('"') ? { rid, mode, position: token } : undefined;
}

const MODES = new Map<unknown, FeedMode>([
  ['INCREMENTAL', 'latest-version'],
  ['FULL_FIDELITY', 'all-versions'],
]);

export function javaState(rid: string, range: FeedRange, mode: FeedMode, position: string | undefined): string {
  const own = { min: range.min, max: range.max };
  const state = {
    V: 1,
    Rid: rid,
    Mode: mode === 'latest-version' ? 'INCREMENTAL' : 'FULL_FIDELITY',
    // The first start. A position overrides it.
    StartFrom: { Type: mode === 'latest-version' ? 'BEGINNING' : 'NOW' },
    ...(position === undefined
      ? { Range: own }
      : { Continuation: { V: 1, Rid: rid, Continuation: [{ token: position, range: own }], Range: own } }),
  };
  return Buffer.from(JSON.stringify(state)).toString('base64');
}

function decode(text: string): unknown {
  try {
    return JSON.parse(Buffer.from(text, 'base64').toString('utf8'));
  } catch {
    return undefined;
  }
}
