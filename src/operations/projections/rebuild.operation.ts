import { z } from 'zod';
import { type EmbedSpec, projectionId } from '../../definition/specs.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { type Plan, defineOperation, partsOf } from '../operation.ts';
import { secondsToWrite } from '../seconds.ts';
import { plural } from '../table.ts';
import { chooseRebuilt } from './choose.ts';
import { estimate, rateInput } from './estimate.ts';
import { type Rebuilt, rebuild, rebuildInPlace, refuseVersion } from './rebuild.ts';

/** Twice the read lag of an operation. */
const SETTLE_S = 10;

function planInPlace(
  spec: EmbedSpec,
  { documents, ru }: Awaited<ReturnType<typeof estimate>>,
  ruPerSecond: number | undefined,
): Plan {
  return {
    steps: [
      `read the parents among ${plural(documents, 'document')} of ${spec.from.container}/${spec.from.type} and ${spec.into.container}/${spec.into.type}`,
      `write the fields of ${projectionId(spec)} into their children in ${spec.into.container}, where they differ`,
    ],
    ru,
    // New children are searched again after twice the read lag.
    seconds: SETTLE_S + secondsToWrite(documents, ru, ruPerSecond),
  };
}

const input = z.object({
  name: z
    .string()
    .describe('the projection, as name (its highest version) or name@version; an embed is filled in place'),
  ...rateInput,
  ...backgroundInput,
});

export const projectionsRebuild = defineOperation({
  noun: 'projections',
  verb: 'rebuild',
  summary: 'Rebuild a projection: fill a new version from history beside the current one, for `promote`',
  examples: [
    'millrace projections rebuild summaries --dry-run',
    'millrace projections rebuild summaries@2 --ru-per-second 2000',
    'millrace projections rebuild summaries@2 --background --env production',
  ],
  effect: 'changes',
  argument: 'name',
  input,
  plan: async ({ name, ruPerSecond }, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const services = await workspace.services();
    const spec = chooseRebuilt(pipeline, name);
    if (spec.kind === 'embed') return planInPlace(spec, await estimate(spec, services, pipeline.sources), ruPerSecond);
    const view = (await new Views(services.state, pipeline.name).read())?.[spec.name];
    if (view) refuseVersion(view, spec);
    const { documents, ru } = await estimate(spec, services, pipeline.sources);
    return {
      steps: [
        `read ${plural(documents, 'document')} of ${sourcesOf(spec)
          .map(({ container, type }) => `${container}/${type}`)
          .join(', ')}`,
        `fill ${spec.into.container} with ${projectionId(spec)}${view?.staged ? ', resuming where it stopped' : ''}`,
      ],
      ru,
      seconds: secondsToWrite(documents, ru, ruPerSecond),
    };
  },
  run: async (asked, context): Promise<Rebuilt | Enqueued> => {
    const loaded = await context.workspace.pipeline();
    const spec = chooseRebuilt(loaded.pipeline, asked.name);
    if (asked.background) return enqueue('projections rebuild', asked, context);
    const parts = await partsOf(context);
    return audited(context, 'projections rebuild', asked, async () => {
      const { documents } = await estimate(spec, parts.services, loaded.pipeline.sources);
      const options = {
        ...parts,
        ruPerSecond: asked.ruPerSecond,
        progress: (changes: number) =>
          context.screen.progress(`${projectionId(spec)}: changes applied`, changes, Math.max(documents, changes)),
      };
      return spec.kind === 'embed' ? rebuildInPlace({ ...options, spec }) : rebuild({ ...options, spec });
    });
  },
  format: (result) =>
    isEnqueued(result)
      ? sayEnqueued(result)
      : [
          `${result.projection} is filled${result.resumed ? ' (resumed)' : ''}: ${plural(result.changes, 'change')} into ${result.container}, ${Math.round(result.charge).toLocaleString('en-US')} RU.`,
          ...(result.startedOver === undefined ? [] : [`It began again from nothing: ${result.startedOver}.`]),
          ...(result.parked > 0
            ? [
                `${plural(result.parked, 'change')} parked: see \`millrace dead-letters list --only ${result.projection}\`.`,
              ]
            : []),
          result.inPlace
            ? 'It was filled in place: there is nothing to promote.'
            : `Promote it with \`millrace projections promote ${result.projection.split('@')[0]}\`.`,
        ].join('\n'),
});
