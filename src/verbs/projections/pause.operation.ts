import { z } from 'zod';
import type { DerivedSpec, IngestSpec, Pipeline } from '../../pipeline/specs.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import type { Paused } from '../../engine/views/views.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { defineOperation } from '../operation.ts';
import { input, open } from '../../procedures/projections/pause.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** A projection with versions records what it reads with each version; every other one with its pause. */
const readsOf = (spec: DerivedSpec | IngestSpec, { projections }: Pipeline): Pick<Paused, 'reads'> => {
  if (spec.kind === 'ingest') return { reads: [] };
  return projections.some(({ name }) => name === spec.name) ? {} : { reads: sourcesOf(spec) };
};

/** The containers whose feeds it reads; an ingest reads none. */
const containersOf = (spec: DerivedSpec | IngestSpec): string[] =>
  spec.kind === 'ingest' ? [] : [...new Set(sourcesOf(spec).map(({ container }) => container))];

/** Projections that wait too: they share the leases, and a position can't pass a change that one of them hasn't applied. */
const others = (spec: DerivedSpec | IngestSpec, pipeline: Pipeline): string[] => {
  const reads = new Set(containersOf(spec));
  const sharing = feedReaders(pipeline).filter(
    (of) => of.name !== spec.name && sourcesOf(of).some(({ container }) => reads.has(container)),
  );
  return [...new Set(sharing.map(({ name }) => name))];
};

const sayOthers = (names: readonly string[]): string =>
  names.length === 0
    ? ''
    : ` ${names.join(', ')} ${names.length === 1 ? 'shares its feed and waits' : 'share its feed and wait'} too.`;

export const projectionsPause = defineOperation({
  name: 'projections pause',
  summary: 'Pause a projection, publish or ingest on all hosts and function apps, until `resume`',
  examples: [
    'millrace projections pause summaries --reason "throttled since 3:10"',
    'millrace projections pause readings-in --dry-run',
  ],
  shards: 'itself',
  effect: 'changes',
  argument: 'name',
  input: input.extend({ reason: z.string().default('').describe('why; `status` and waiting hosts show it') }),
  plan: async ({ name }, context) => {
    const { spec, pipeline } = await open(name, context);
    const also = others(spec, pipeline);
    return {
      steps: [
        spec.kind === 'ingest'
          ? `stop reading events of ${spec.from}`
          : `stop reading changes of ${containersOf(spec).join(', ')}`,
        ...(also.length > 0 ? [`pause ${also.join(', ')} too, because of the shared feed`] : []),
      ],
      ru: 0,
    };
  },
  run: async ({ name, reason }, context) => {
    const { spec, pipeline, views } = await open(name, context);
    return audited(context, 'projections pause', { name, reason }, async () => {
      const paused: Paused = { since: new Date().toISOString(), by: context.actor, reason, ...readsOf(spec, pipeline) };
      const view = await views.change(spec.name, (of) => {
        if (!of.paused) return { ...of, paused };
        throw sharedError('wrong-state', `${of.paused.by} already paused ${spec.name} at ${of.paused.since}`, {
          hint: `Run \`millrace projections resume ${spec.name}\` to continue it.`,
        });
      });
      return { projection: spec.name, ...view.paused, alsoWaiting: others(spec, pipeline) };
    });
  },
  format: ({ projection, alsoWaiting }) =>
    `${projection} is paused: hosts stop within seconds, and no change is lost.${sayOthers(alsoWaiting)}`,
});
