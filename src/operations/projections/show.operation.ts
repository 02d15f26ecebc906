import { z } from 'zod';
import { type IngestSpec, type Pipeline, type PublishSpec, projectionId } from '../../definition/specs.ts';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import { sourcesOf } from '../../definition/pipeline.ts';
import { NO_VIEW, type View, Views } from '../../engine/views/views.ts';
import { readDeadLetters } from '../dead-letters/read.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../table.ts';
import { chooseProjection } from './choose.ts';
import { sourceOfIngest } from './projection-rows.ts';

/** A publish or an ingest, by `name` or `name@version`. */
const streamOf = ({ publishes, ingests }: Pipeline, given: string): PublishSpec | IngestSpec | undefined =>
  [...publishes, ...ingests].find((spec) => spec.name === given || projectionId(spec) === given);

/** A publish or an ingest has no versions side by side: hosts run what is declared. */
function showStream(spec: PublishSpec | IngestSpec, letters: readonly DeadLetter[], view: View | undefined) {
  const id = projectionId(spec);
  const out = spec.kind === 'publish';
  return {
    ...NO_VIEW,
    paused: view?.paused ?? null,
    name: spec.name,
    kind: spec.kind,
    reads: [out ? `${spec.from.container}/${spec.from.type}` : sourceOfIngest(spec)],
    recorded: false,
    declared: [
      {
        id,
        into: out ? `event hub ${spec.to}` : `${spec.into.container}/${spec.into.type}`,
        parked: letters.filter(({ projection }) => projection === id).length,
      },
    ],
  };
}

export const projectionsShow = defineOperation({
  noun: 'projections',
  verb: 'show',
  summary:
    'Show a projection, publish or ingest: its versions, which is current, which is being built, and parked changes',
  examples: ['millrace projections show summaries', 'millrace projections show summaries --json'],
  effect: 'reads',
  argument: 'name',
  input: z.object({ name: z.string().describe('the projection, publish or ingest') }),
  run: async ({ name }, { workspace }) => {
    const { pipeline } = await workspace.pipeline();
    const services = await workspace.services();
    const stream = streamOf(pipeline, name);
    const recorded = await new Views(services.state, pipeline.name).read();
    if (stream) return showStream(stream, await readDeadLetters(services), recorded?.[stream.name]);
    const spec = chooseProjection(pipeline, name, 'highest', [...pipeline.publishes, ...pipeline.ingests]);
    const letters = await readDeadLetters(services);
    const view = recorded?.[spec.name] ?? NO_VIEW;
    return {
      name: spec.name,
      kind: spec.kind,
      reads: sourcesOf(spec).map(({ container, type }) => `${container}/${type}`),
      /** False: no host has read a change yet. */
      recorded: recorded !== undefined,
      ...view,
      declared: pipeline.projections
        .filter((of) => of.name === spec.name)
        .map((of) => ({
          id: projectionId(of),
          into: `${of.into.container}/${of.into.type}`,
          parked: letters.filter(({ projection }) => projection === projectionId(of)).length,
        })),
    };
  },
  format: ({ name, kind, reads, recorded, current, staged, previous, paused, declared }) =>
    [
      `${name}: ${kind} of ${reads.join(', ')}`,
      kind === 'publish' || kind === 'ingest'
        ? '  no versions side by side: hosts run it as it is declared'
        : current
          ? `  current: version ${current.version}, in ${current.container}/${current.type}`
          : recorded
            ? `  never built: run \`millrace projections rebuild ${name}\``
            : '  no host has read a change yet; the first one that does makes the lowest version current',
      ...(staged
        ? [
            `  ${staged.phase}: version ${staged.version}, into ${staged.container}/${staged.type}, since ${staged.since}`,
          ]
        : []),
      ...(previous
        ? [
            `  before: version ${previous.version}, in ${previous.container}/${previous.type}, readable until ${previous.readableUntil}`,
          ]
        : []),
      ...(paused
        ? [`  paused by ${paused.by} at ${paused.since}${paused.reason === '' ? '' : `: ${paused.reason}`}`]
        : []),
      ...declared.map(({ id, into, parked }) => `  declared: ${id} into ${into}, ${plural(parked, 'change')} parked`),
    ].join('\n'),
});
