import { audited } from '../../procedures/journal/runs.ts';
import { defineOperation } from '../operation.ts';
import { input, open } from '../../procedures/projections/pause.ts';

export const projectionsResume = defineOperation({
  name: 'projections resume',
  summary: 'Resume a paused projection where it stopped',
  examples: ['millrace projections resume summaries'],
  shards: 'itself',
  effect: 'changes',
  argument: 'name',
  input,
  plan: async ({ name }, context) => {
    const { spec, views } = await open(name, context);
    const paused = (await views.read())?.[spec.name]?.paused;
    return { steps: paused ? [`resume ${spec.name}, which ${paused.by} paused at ${paused.since}`] : [], ru: 0 };
  },
  run: async ({ name }, context) => {
    const { spec, views } = await open(name, context);
    return audited(context, 'projections resume', { name }, async () => {
      let since: string | null = null;
      await views.change(spec.name, (of) => {
        since = of.paused?.since ?? null;
        return of.paused ? { ...of, paused: null } : undefined;
      });
      return { projection: spec.name, pausedSince: since as string | null };
    });
  },
  format: ({ projection, pausedSince }) =>
    pausedSince === null
      ? `${projection} was not paused.`
      : `${projection} is resumed. It was paused at ${pausedSince}.`,
});
