import { z } from 'zod';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { defineOperation, partsOf } from '../operation.ts';
import { chooseProjection, findSink, splitId } from './choose.ts';
import { filledTarget, swapSink } from './rebuild-sink.ts';
import { LONGEST_READ_S, promote, assertFilled } from './promote.ts';

const HELD_S = Math.ceil((VIEWS_REFRESH_MS + 5_000) / 1000);

export const projectionsPromote = defineOperation({
  noun: 'projections',
  verb: 'promote',
  summary: 'Promote a filled version, or a filled content of a sink: readers switch to it, all at one moment',
  examples: [
    'millrace projections promote summaries --dry-run',
    'millrace projections promote summaries --env production',
    'millrace projections promote product-search',
  ],
  effect: 'changes',
  argument: 'name',
  input: z.object({
    name: z.string().describe('the projection, as name or name@version'),
    longestRead: z
      .int()
      .min(0)
      .default(LONGEST_READ_S)
      .describe('seconds for which readers may still read the previous version'),
    evenParked: z
      .boolean()
      .default(false)
      .describe('promote although the new version has dead letters that the previous one does not have'),
  }),
  plan: async ({ name }, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const { state } = await workspace.services();
    const given = splitId(name);
    const view = (await new Views(state, pipeline.name).read())?.[given.name];
    const sink = findSink(pipeline, name);
    if (sink) {
      const { container } = filledTarget(view, sink);
      return {
        steps: [
          `catch up ${container}`,
          `stop applying changes of ${sink.from.container} for about ${HELD_S} s`,
          `make ${container} the content of the sink of ${sink.name}`,
        ],
        ru: 0,
        seconds: HELD_S,
      };
    }
    const version = given.version ?? view?.staged?.version ?? chooseProjection(pipeline, name).version;
    assertFilled(view, given.name, version);
    const reads = [
      ...new Set([...(view.current?.reads ?? []), ...(view.staged?.reads ?? [])].map(({ container }) => container)),
    ];
    return {
      steps: [
        `catch up ${given.name}@${version}`,
        `stop applying changes of ${reads.join(', ')} for about ${HELD_S} s`,
        `make ${given.name}@${version} current; readers find it in ${view.staged?.container ?? ''}`,
      ],
      ru: 0,
      seconds: HELD_S,
    };
  },
  run: async ({ name, longestRead, evenParked }, context) => {
    const parts = await partsOf(context);
    const { services, loaded } = parts;
    const progress = (changes: number): void => context.screen.progress('caught up', changes);
    const sink = findSink(loaded.pipeline, name);
    if (sink)
      return audited(context, 'projections promote', { name }, () => swapSink({ ...parts, spec: sink, progress }));
    const given = splitId(name);
    const view = (await new Views(services.state, loaded.pipeline.name).read())?.[given.name];
    const staged = given.version ?? view?.staged?.version;
    const spec = chooseProjection(loaded.pipeline, staged === undefined ? name : `${given.name}@${staged}`);
    return audited(context, 'projections promote', { name, longestRead, evenParked }, () =>
      promote({
        ...parts,
        spec,
        longestReadS: longestRead,
        evenParked,
        progress,
      }),
    );
  },
  format: ({ projection, container, previous, readableUntil, heldMs }) =>
    [
      `${projection} is current, in ${container}. Changes waited for ${(heldMs / 1000).toFixed(1)} s.`,
      ...(previous
        ? [
            `${previous} is no longer updated. \`millrace projections drop ${previous}\` can remove it from ${readableUntil ?? ''} on.`,
          ]
        : []),
    ].join('\n'),
});
