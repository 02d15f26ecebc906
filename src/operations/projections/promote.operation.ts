import { z } from 'zod';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { defineOperation, partsOf } from '../operation.ts';
import { chooseProjection, splitId } from './choose.ts';
import { LONGEST_READ_S, promote, assertFilled } from './promote.ts';

export const projectionsPromote = defineOperation({
  noun: 'projections',
  verb: 'promote',
  summary: 'Promote a filled version: readers switch from the previous version to it, all at one moment',
  examples: [
    'millrace projections promote summaries --dry-run',
    'millrace projections promote summaries --env production',
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
    const version = given.version ?? view?.staged?.version ?? chooseProjection(pipeline, name).version;
    assertFilled(view, given.name, version);
    const reads = [
      ...new Set([...(view.current?.reads ?? []), ...(view.staged?.reads ?? [])].map(({ container }) => container)),
    ];
    return {
      steps: [
        `catch up ${given.name}@${version}`,
        `stop applying changes of ${reads.join(', ')} for about ${Math.ceil((VIEWS_REFRESH_MS + 5_000) / 1000)} s`,
        `make ${given.name}@${version} current; readers find it in ${view.staged?.container ?? ''}`,
      ],
      ru: 0,
      seconds: Math.ceil((VIEWS_REFRESH_MS + 5_000) / 1000),
    };
  },
  run: async ({ name, longestRead, evenParked }, context) => {
    const parts = await partsOf(context);
    const { services, loaded } = parts;
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
        progress: (changes) => context.screen.progress('caught up', changes),
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
