// What must be after moves and kills, by the acknowledged writes alone.
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { SpreadStage } from '../../../support/spread-stage.ts';
import { type Orders, derivedIn, rows } from '../../../runtime/application.ts';
import type { Effect } from './host-process.ts';

export interface Verdict {
  /** Documents whose last acknowledged version is not on the shard of their store. */
  readonly lost: readonly string[];
  /** Documents of a store on another shard. */
  readonly onBothSides: readonly string[];
  /** Versions that had their effect under several keys. */
  readonly effectsTwice: readonly string[];
  /** Last versions that had no effect. */
  readonly effectsMissing: readonly string[];
  /** What hosts derived in the global place, and is wrong. */
  readonly derivedWrong: readonly string[];
}

/** Hosts may be late by this: one that was killed leaves leases that expire, and a queue. */
const PATIENCE_MS = 120_000;

export async function judge(
  stage: SpreadStage,
  truth: Orders,
  shardOf: ReadonlyMap<string, string>,
  effects: () => readonly Effect[],
): Promise<Verdict> {
  const derivedWrong = await untilDerived(stage, truth);
  const expected = new Map([...truth.orders].map(([key, { storeId, cents }]) => [key, { storeId, cents }]));
  const found = new Map<string, number>();
  const onBothSides: string[] = [];
  for (const shard of new Set(shardOf.values()))
    for (const { id, storeId, cents } of await rows<{ id: string; storeId: string; cents: number }>(
      stage.at(shard, 'Orders'),
      'c.id, c.storeId, c.cents',
    )) {
      if (shardOf.get(storeId) === shard) found.set(`${storeId}-${id}`, cents);
      else onBothSides.push(`${storeId}-${id} on ${shard}`);
    }
  const lost = [...expected].filter(([key, { cents }]) => found.get(key) !== cents);
  const keysOf = Map.groupBy(effects(), ({ order, cents }) => `${order} ${cents}`);
  const twice = [...keysOf].filter(([, of]) => new Set(of.map(({ key }) => key)).size > 1);
  return {
    lost: lost.map(([key, { cents }]) => `${key}: ${found.get(key) ?? 'absent'}, not ${cents}`),
    onBothSides,
    effectsTwice: twice.map(([version, of]) => `${version}: ${of.map(({ key }) => key).join(', ')}`),
    effectsMissing: [...expected]
      .map(([key, { cents }]) => `${key} ${cents}`)
      .filter((version) => !keysOf.has(version)),
    derivedWrong,
  };
}

/** Resolves with what is still wrong when patience is over. */
async function untilDerived(stage: SpreadStage, truth: Orders): Promise<string[]> {
  const until = performance.now() + PATIENCE_MS;
  const wanted = { totals: truth.totals(), listed: truth.listed(), years: truth.years() };
  for (;;) {
    const found = await derivedIn(stage);
    const wrong = (['totals', 'listed', 'years'] as const).filter((of) => !isDeepStrictEqual(found[of], wanted[of]));
    if (wrong.length === 0 || performance.now() > until)
      return wrong.map((of) => `${of}: ${JSON.stringify(found[of])}, not ${JSON.stringify(wanted[of])}`);
    await delay(500);
  }
}
