// A proposal on the meter: stated against measured, and beside a published design.
import type { CosmosClient } from '@azure/cosmos';
import { HEADROOM, HOURS_PER_MONTH, physicalPartitions } from '../../src/model/estimate.ts';
import { type Needs, needsOf } from '../../src/model/propose/needs.ts';
import { propose } from '../../src/model/propose/propose.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { type Shop, requirementsOf } from './form.ts';
import { type Measured, measure } from './measure.ts';
import { planOf } from './proposal.ts';
import type { Published } from './published.ts';

export interface Pattern {
  readonly text: string;
  readonly stated: number;
  readonly ru: number;
  /** Measured ÷ stated. */
  readonly ratio: number;
}

export interface Run {
  readonly needs: Needs;
  readonly patterns: readonly Pattern[];
  /** Measured ÷ stated of all patterns, weighted by their average rates. */
  readonly ratio: number;
  readonly meter: Measured;
}

export async function measured(client: CosmosClient, name: string, shop: Shop): Promise<Run> {
  const { needs, questions } = needsOf(requirementsOf(shop), 'cosmosdb_requirements.md');
  if (questions.length > 0) throw new Error(questions.map(({ question }) => question).join('\n'));
  const ids = needs.accesses.map(({ id }) => id);
  const design = parseDesign(propose(needs).design, 'cosmosdb_data_model.md', ids);
  const meter = await measure(client, name, needs, planOf(needs, design));
  let [all, expected] = [0, 0];
  const patterns = needs.accesses.map(({ id, kind, entity, by, average }): Pattern => {
    const stated = design.mapping.find((row) => row.ids.includes(id))?.ru;
    if (stated === undefined) throw new Error(`pattern ${id} of ${name} states no RU`);
    const ru = meter.patterns.get(id) ?? 0;
    all += average * ru;
    expected += average * stated;
    return { text: [kind, entity, by.join(' and ')].join(' ').trim(), stated, ru, ratio: ru / stated };
  });
  return { needs, patterns, ratio: all / expected, meter };
}

/** The proposal's measured RU/s, and what is billed for it, divided by those of the published design. */
export async function compared(
  client: CosmosClient,
  published: Published,
  { needs, meter }: Run,
): Promise<{ readonly ru: number; readonly hours: number }> {
  // The data has the same size in every design without copies; one with copies has more, and partitions hardly matter to it.
  const gb = needs.entities.reduce((sum, { bytes, count }) => sum + (bytes * count) / 1e9, 0);
  const plan = published.plan(() => physicalPartitions(gb, 0));
  const theirs = await measure(client, `${published.of}-published`, needs, plan);
  return { ru: total(meter.average) / total(theirs.average), hours: hours(meter) / hours(theirs) };
}

const total = (by: ReadonlyMap<string, number>): number => [...by.values()].reduce((sum, ru) => sum + ru, 0);

/** Units of 100 RU/s for an hour: each container's autoscale maximum by its peak, billed at least a tenth of it. */
function hours({ peak, average }: Measured): number {
  return [...peak].reduce((sum, [place, ru]) => {
    const max = Math.max(1, Math.ceil(ru / HEADROOM / 1000)) * 1000;
    return sum + (Math.min(max, Math.max(max / 10, average.get(place) ?? 0)) / 100) * HOURS_PER_MONTH;
  }, 0);
}
