import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import type { DerivedSpec, IngestSpec, Pipeline } from '../../definition/specs.ts';
import { feedReaders, sourcesOf } from '../../definition/pipeline.ts';
import type { Paused } from '../../engine/views/views.ts';
import { audited } from '../audit/record.ts';
import { defineOperation } from '../operation.ts';
import { input, open } from './pause.ts';

/** What has no versions to say what it reads says it with its pause. */
const toldBy = (spec: DerivedSpec | IngestSpec, { projections }: Pipeline): Pick<Paused, 'reads'> => {
  if (spec.kind === 'ingest') return { reads: [] };
  return projections.some(({ name }) => name === spec.name) ? {} : { reads: sourcesOf(spec) };
};

/** The containers whose feeds it reads; an ingest reads none. */
const containersOf = (spec: DerivedSpec | IngestSpec): string[] =>
  spec.kind === 'ingest' ? [] : [...new Set(sourcesOf(spec).map(({ container }) => container))];

/** Who else waits: what reads the same types shares the leases, and a position can't pass what one of them hasn't applied. */
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
  noun: 'projections',
  verb: 'pause',
  summary: 'Hold back what a projection, publish or ingest reads, on all hosts and function apps, until `resume`',
  examples: [
    'millrace projections pause summaries --reason "throttled since 3:10"',
    'millrace projections pause readings-in --dry-run',
  ],
  effect: 'changes',
  argument: 'name',
  input: input.extend({ reason: z.string().default('').describe('why; shown by status and to whoever has to wait') }),
  plan: async ({ name }, context) => {
    const { spec, pipeline } = await open(name, context);
    const also = others(spec, pipeline);
    return {
      steps: [
        spec.kind === 'ingest'
          ? `hold back events of ${spec.from}`
          : `hold back changes of ${containersOf(spec).join(', ')}`,
        ...(also.length > 0 ? [`which ${also.join(', ')} ${also.length === 1 ? 'waits' : 'wait'} for as well`] : []),
      ],
      ru: 0,
    };
  },
  run: async ({ name, reason }, context) => {
    const { spec, pipeline, views } = await open(name, context);
    return audited(context, 'projections pause', { name, reason }, async () => {
      const paused: Paused = { since: new Date().toISOString(), by: context.actor, reason, ...toldBy(spec, pipeline) };
      const view = await views.change(spec.name, (of) => {
        if (!of.paused) return { ...of, paused };
        throw new UsageError('already-paused', `${spec.name} is paused since ${of.paused.since} by ${of.paused.by}`, {
          mend: `\`millrace projections resume ${spec.name}\` lets it go on.`,
        });
      });
      return { projection: spec.name, ...view.paused, alsoWaiting: others(spec, pipeline) };
    });
  },
  format: ({ projection, alsoWaiting }) =>
    `${projection} is paused: hosts stop within seconds, and nothing is lost.${sayOthers(alsoWaiting)}`,
});
