import { z } from 'zod';
import { required } from '../flags.ts';
import { systemClock } from '../../base/clock.ts';
import { type Period as MapPeriod, type ShardSchedule, ensureScheduled } from '../../shards/index.ts';
import { shownLocation } from '../../shards/map/documents.ts';
import { assertSchedule, periodsOf } from '../../shards/map/schedule.ts';
import { audited } from '../../procedures/journal/runs.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { textTable } from '../../procedures/table.ts';
import { address, mapInput } from './inputs.ts';
import { healMap, openMap } from '../../procedures/shards/open.ts';
import { locationOf } from './select.ts';

export const shardsSchedule = defineOperation({
  name: 'shards schedule',
  summary: 'Create the shards and mappings of this day, month or year and of those ahead; their databases must exist',
  examples: ['millrace shards schedule orders --every month --ahead 2 --shard orders-{yyyy}-{mm}'],
  effect: 'changes',
  argument: 'map',
  input: z.object({
    ...mapInput,
    every: z.enum(['day', 'month', 'year']).describe('the time that one shard has'),
    ahead: z.int().min(1).max(60).default(2).describe('how many periods after this one to map'),
    shard: required('database of a period, with its first day in the places {yyyy}, {mm} and {dd}'),
    endpoint: address.optional().describe('account of the shards (default: the account of the shard maps)'),
  }),
  plan: async (asked, context) => {
    const map = await openMap(context, asked.map);
    assertSchedule(map, scheduleOf(asked), nowOf(context));
    const periods = periodsOf(scheduleOf(asked), nowOf(context));
    const steps = periods.map(
      ({ from, to, location }) =>
        `map ${day(from)} to ${day(to)} to ${shownLocation(location)}, unless they are mapped`,
    );
    return { steps, ru: 0 };
  },
  run: async (asked, context) => {
    const map = await openMap(context, asked.map);
    return audited(context, 'shards schedule', asked, async () => {
      await healMap(context, map);
      const periods = await ensureScheduled(map, scheduleOf(asked), nowOf(context));
      return periods.map(({ from, to, location, state, problem }) => ({
        from: day(from),
        to: day(to),
        shard: shownLocation(location),
        state,
        ...(problem && { problem: problem.message }),
      }));
    });
  },
  ok: (periods) => periods.every(({ state }) => state !== 'missing'),
  format: (periods) =>
    textTable(
      ['from', 'before', 'shard', 'state', ''],
      periods.map(({ from, to, shard, state, problem = '' }) => [from, to, shard, state, problem]),
    ),
});

const nowOf = ({ clock = systemClock }: Context): Date => new Date(clock.now());
const day = (date: Date): string => date.toISOString().slice(0, 10);

const scheduleOf = (asked: {
  readonly every: MapPeriod;
  readonly ahead: number;
  readonly shard: string;
  readonly endpoint?: string | undefined;
}): ShardSchedule => ({ every: asked.every, ahead: asked.ahead, location: locationOf(asked) });
