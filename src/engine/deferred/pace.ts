// How fast a queue gets shorter. Its head remembers where it was, so that anybody can tell at any time, without a host.
import type { Head } from './documents.ts';

export interface Pace {
  readonly ms: number;
  /** Bundles that were drained in that time, and those that were added. */
  readonly drained: number;
  readonly added: number;
}

const MARK_MS = 60_000;
/** A queue whose last mark is older was not drained lately: each drain marks it once a minute. */
const LATELY_MS = 5 * MARK_MS;
/** In less time too little happens to say anything. */
const LEAST_MS = 5_000;

/** The head with the mark before and a new one, once a minute. To be called with each change of a head. */
export function marked<H extends Omit<Head, 'id'>>(head: H, now: number): H {
  const { marks = [], first, next } = head;
  const last = marks.at(-1);
  if (last && now - last.at < MARK_MS) return head;
  return { ...head, marks: [...(last ? [last] : []), { at: now, first, next }] };
}

/** What happened since the older mark. Undefined: it isn't known, because the queue is new or was not drained lately. */
export function paceOf({ marks = [], first, next }: Omit<Head, 'id'>, now: number): Pace | undefined {
  const [oldest] = marks;
  const last = marks.at(-1);
  if (!oldest || !last || now - last.at > LATELY_MS || now - oldest.at < LEAST_MS) return undefined;
  return { ms: now - oldest.at, drained: first - oldest.first, added: next - oldest.next };
}
