import type { SoakLine } from './lines.ts';

type Delivered = SoakLine & { readonly kind: 'delivered' };

/** What a soak's logs say, by rules of its own: it knows positions, ranges and times, and none of the processor. */
export interface Verdict {
  readonly deliveries: number;
  readonly distinct: number;
  readonly tenures: number;
  /** Changes delivered by an owner after a later one had delivered a newer change of the same range. */
  readonly late: number;
  readonly lateTenures: number;
  /** The longest that an old owner went on after a later one's newer delivery, milliseconds. */
  readonly latestMs: number;
  /** Written and never delivered. */
  readonly lost: readonly string[];
  /** Delivered before all of its key that was written before. */
  readonly outOfOrder: readonly string[];
}

/** `written`: how many documents each key has, numbered from 0, in transactions of `batch`. */
export function judge(lines: readonly SoakLine[], written: ReadonlyMap<string, number>, batch: number): Verdict {
  const began = new Map<string, number>();
  for (const line of lines) if (line.kind === 'acquired') began.set(line.tenure, line.at);
  const delivered = lines
    .filter((line): line is Delivered => line.kind === 'delivered')
    .toSorted((a, b) => a.at - b.at);
  const { late, tenures: lateTenures, latestMs } = lateOf(delivered, began);
  const seen = new Set<string>();
  const next = new Map<string, number>();
  const outOfOrder: string[] = [];
  for (const { changes } of delivered)
    for (const [id] of changes) {
      const [key = '', n = ''] = id.split(':');
      const complete = next.get(key) ?? 0;
      // A transaction's documents come in any order, and never without each other.
      if (Math.floor(Number(n) / batch) * batch > complete) outOfOrder.push(id);
      if (!seen.has(id)) next.set(key, complete + 1);
      seen.add(id);
    }
  const lost = [...written].flatMap(([key, count]) =>
    Array.from({ length: count }, (_, n) => `${key}:${n}`).filter((id) => !seen.has(id)),
  );
  return {
    deliveries: delivered.reduce((sum, { changes }) => sum + changes.length, 0),
    distinct: seen.size,
    tenures: began.size,
    late,
    lateTenures,
    latestMs,
    lost,
    outOfOrder,
  };
}

interface Reached {
  readonly min: string;
  readonly max: string;
  readonly began: number;
  /** With the time of the first delivery of so high an lsn or a higher one. */
  readonly steps: { readonly at: number; readonly lsn: number }[];
}

function lateOf(delivered: readonly Delivered[], began: ReadonlyMap<string, number>) {
  const reached = new Map<string, Reached>();
  const guilty = new Set<string>();
  let late = 0;
  let latestMs = 0;
  for (const { at, tenure, min, max, changes } of delivered) {
    const start = began.get(tenure) ?? 0;
    const later = [...reached].filter(
      ([other, of]) => other !== tenure && of.began > start && of.min < max && min < of.max,
    );
    for (const [, lsn] of changes) {
      const since = later
        .map(([, { steps }]) => steps.find((step) => step.lsn > lsn)?.at)
        .filter((one) => one !== undefined);
      if (since.length === 0) continue;
      late += 1;
      guilty.add(tenure);
      latestMs = Math.max(latestMs, at - Math.min(...since));
    }
    const of = reached.get(tenure) ?? { min, max, began: start, steps: [] };
    reached.set(tenure, of);
    const highest = Math.max(...changes.map(([, lsn]) => lsn));
    if (highest > (of.steps.at(-1)?.lsn ?? -1)) of.steps.push({ at, lsn: highest });
  }
  return { late, tenures: guilty.size, latestMs };
}
