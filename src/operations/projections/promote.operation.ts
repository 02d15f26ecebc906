import { z } from 'zod';
import { refuseHistory } from '../../definition/all-versions.ts';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { Views } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { defineOperation, partsOf } from '../operation.ts';
import { chooseProjection, splitId } from './choose.ts';
import { LONGEST_READ_S, promote, assertFilled } from './promote.ts';

export const projectionsPromote = defineOperation({
  noun: 'projections',
  verb: 'promote',
  summary: 'Make a filled version current: readers see the one before, then this one, and nothing between',
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
      .describe('seconds that somebody may still be reading the version before'),
    evenParked: z
      .boolean()
      .default(false)
      .describe('though the new version has parked changes that the old one applied'),
  }),
  plan: async ({ name }, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const { state } = await workspace.services();
    const told = splitId(name);
    const view = (await new Views(state, pipeline.name).read())?.[told.name];
    const version = told.version ?? view?.staged?.version ?? chooseProjection(pipeline, name).version;
    assertFilled(view, told.name, version);
    const spec = pipeline.projections.find((of) => of.name === told.name && of.version === version);
    if (spec) refuseHistory(spec, pipeline, 'caught up');
    const reads = [
      ...new Set([...(view.current?.reads ?? []), ...(view.staged?.reads ?? [])].map(({ container }) => container)),
    ];
    return {
      steps: [
        `catch up ${told.name}@${version}`,
        `hold back changes of ${reads.join(', ')} for about ${Math.ceil((VIEWS_REFRESH_MS + 5_000) / 1000)} s`,
        `make ${told.name}@${version} current; readers find it in ${view.staged?.container ?? ''}`,
      ],
      ru: 0,
      seconds: Math.ceil((VIEWS_REFRESH_MS + 5_000) / 1000),
    };
  },
  run: async ({ name, longestRead, evenParked }, context) => {
    const parts = await partsOf(context);
    const { services, loaded } = parts;
    const told = splitId(name);
    const view = (await new Views(services.state, loaded.pipeline.name).read())?.[told.name];
    const staged = told.version ?? view?.staged?.version;
    const spec = chooseProjection(loaded.pipeline, staged === undefined ? name : `${told.name}@${staged}`);
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
      `${projection} is current, in ${container}. Changes were held back for ${(heldMs / 1000).toFixed(1)} s.`,
      ...(previous
        ? [
            `${previous} is no longer kept up; \`millrace projections drop ${previous}\` removes it, from ${readableUntil ?? ''} on.`,
          ]
        : []),
    ].join('\n'),
});
