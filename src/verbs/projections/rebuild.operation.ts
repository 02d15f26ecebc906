import { z } from 'zod';
import { flag, required } from '../flags.ts';
import { isOutside, projectionId } from '../../pipeline/specs.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { secondsToWrite } from '../../procedures/seconds.ts';
import { plural } from '../../procedures/table.ts';
import { type RebuiltSpec, chooseRebuilt, projectionTargetOf } from '../../procedures/projections/choose.ts';
import { rateInput } from '../../procedures/projections/estimate.ts';
import { estimateIn } from '../../procedures/projections/in-places.ts';
import { sayRefused } from '../../procedures/rebuild/fill.ts';
import { rebuildCustom } from '../../procedures/rebuild/rebuild-custom.ts';
import { rebuildSink, sameVersion } from '../../procedures/rebuild/rebuild-sink.ts';
import {
  type Rebuilt,
  type RebuildOptions,
  rebuild,
  rebuildInPlace,
  refuseVersion,
} from '../../procedures/rebuild/rebuild.ts';

/** Twice the read lag of an operation. */
const SETTLE_S = 10;

/** What a rebuild does, without the cost; `resumes`: one was begun. */
function stepsOf(spec: RebuiltSpec, documents: number, resumes: boolean): string[] {
  const id = projectionId(spec);
  const read = `read ${plural(documents, 'document')} of ${sourcesOf(spec)
    .map(({ container, type }) => `${container}/${type}`)
    .join(', ')}`;
  const resuming = resumes ? ', resuming where it stopped' : '';
  if (spec.kind === 'embed')
    return [
      `read the parents among ${plural(documents, 'document')} of ${spec.from.container}/${spec.from.type} and ${spec.into.container}/${spec.into.type}`,
      `write the fields of ${id} into their children in ${spec.into.container}, where they differ`,
    ];
  if (isOutside(spec)) return [read, `fill another content of ${projectionTargetOf(spec)}${resuming}`];
  if (spec.kind === 'custom')
    return [
      ...(resumes ? [] : [`call reset of ${id}, which removes what it derived`]),
      read,
      `apply all of it to ${id} again${resuming}`,
    ];
  return [read, `fill ${spec.into.container} with ${id}${resuming}`];
}

const runRebuild = (spec: RebuiltSpec, options: Omit<RebuildOptions, 'spec'>): Promise<Rebuilt> => {
  if (spec.kind === 'embed') return rebuildInPlace({ ...options, spec });
  if (isOutside(spec)) return rebuildSink({ ...options, spec });
  return spec.kind === 'custom' ? rebuildCustom({ ...options, spec }) : rebuild({ ...options, spec });
};

const input = z.object({
  name: required(
    'the projection, as name (its highest version) or name@version; an embed and a custom projection are filled in place',
  ),
  wholeHistory: flag('of a send or a custom projection with a start: also documents that were last written before it'),
  ...rateInput,
  ...backgroundInput,
});

export const projectionsRebuild = defineOperation({
  name: 'projections rebuild',
  summary:
    'Rebuild a projection: fill a new version, or another content of a sink, from history beside the current one',
  examples: [
    'millrace projections rebuild summaries --dry-run',
    'millrace projections rebuild summaries@2 --ru-per-second 2000',
    'millrace projections rebuild product-search',
    'millrace projections rebuild summaries@2 --background --env production',
  ],
  shards: 'itself',
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input,
  plan: async ({ name, ruPerSecond }, context) => {
    const parts = await partsOf(context);
    const { services, loaded } = parts;
    const { pipeline } = loaded;
    const spec = chooseRebuilt(pipeline, name);
    const view = (await new Views(services.global.state, pipeline.name).read())?.[spec.name];
    if (view && isOutside(spec)) sameVersion(view, spec);
    else if (view && spec.kind !== 'embed' && !isOutside(spec) && spec.kind !== 'custom') refuseVersion(view, spec);
    const staged = view?.staged?.version === spec.version ? view.staged : undefined;
    const { documents, ru } = await estimateIn(spec, parts);
    return {
      steps: stepsOf(spec, documents, staged !== undefined && staged.phase !== 'resetting'),
      ru,
      // New children of an embed are searched again after twice the read lag.
      seconds: (spec.kind === 'embed' ? SETTLE_S : 0) + secondsToWrite(documents, ru, ruPerSecond),
    };
  },
  run: async (asked, context): Promise<Rebuilt | Enqueued> => {
    const loaded = await context.workspace.pipeline();
    const spec = chooseRebuilt(loaded.pipeline, asked.name);
    if (asked.background) return enqueue('projections rebuild', asked, context);
    const parts = await partsOf(context);
    return audited(context, 'projections rebuild', asked, async () => {
      const { documents } = await estimateIn(spec, parts);
      const options = {
        ...parts,
        ruPerSecond: asked.ruPerSecond,
        wholeHistory: asked.wholeHistory,
        progress: (changes: number) =>
          context.screen.progress(`${projectionId(spec)}: changes applied`, changes, Math.max(documents, changes)),
        refused: (why: string) => context.screen.line(sayRefused(spec, why)),
      };
      return runRebuild(spec, options);
    });
  },
  ok: (result) => isEnqueued(result) || result.parked === 0,
  format: (result) =>
    isEnqueued(result)
      ? sayEnqueued(result)
      : [
          `${result.projection} is filled${result.resumed ? ' (resumed)' : ''}: ${plural(result.changes, 'change')} into ${result.container}, ${Math.round(result.charge).toLocaleString('en-US')} RU.`,
          ...(result.startedOver === undefined ? [] : [`It began again from nothing: ${result.startedOver}.`]),
          ...(result.begins === undefined
            ? []
            : [
                `It begins at ${result.begins}: documents that were last written before are left out. --whole-history fills them in too.`,
              ]),
          ...(result.parked > 0
            ? [
                `${plural(result.parked, 'change')} parked: see \`millrace dead-letters list --only ${result.parkedAs ?? result.projection}\`.`,
              ]
            : []),
          result.inPlace
            ? 'It was filled in place: there is nothing to promote.'
            : `Promote it with \`millrace projections promote ${result.projection.split('@')[0]}\`.`,
        ].join('\n'),
});
