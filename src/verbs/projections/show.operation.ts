import { z } from 'zod';
import { required } from '../flags.ts';
import {
  type EffectSpec,
  type IngestSpec,
  type Pipeline,
  type PublishSpec,
  projectionId,
} from '../../pipeline/specs.ts';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { type RecordedStart, readStarts } from '../../engine/views/starts.ts';
import { NO_VIEW, type Previous, type Staged, type View, Views } from '../../engine/views/views.ts';
import { readDeadLetters } from '../../procedures/dead-letters/read.ts';
import { partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { plural } from '../../procedures/table.ts';
import { sayBegin } from '../../procedures/rebuild/begins.ts';
import { chooseProjection } from '../../procedures/projections/choose.ts';
import { inPlaces, placesOf } from '../../runtime/places.ts';
import { sourceOfIngest } from '../../procedures/projections/projection-rows.ts';

/** What has no versions side by side, by `name` or `name@version`. */
const streamOf = ({ effects, publishes, ingests }: Pipeline, given: string): StreamSpec | undefined =>
  [...effects, ...publishes, ...ingests].find((spec) => spec.name === given || projectionId(spec) === given);

type StreamSpec = EffectSpec | PublishSpec | IngestSpec;

const goesInto = (spec: StreamSpec): string => {
  if (spec.kind === 'publish') return `event hub ${spec.to}`;
  if (spec.kind === 'table') return `table ${spec.table}`;
  return spec.kind === 'ingest' ? `${spec.into.container}/${spec.into.type}` : 'its own code';
};

/** An effect, a publish or an ingest has no versions side by side: hosts run what is declared. */
function showStream(
  spec: StreamSpec,
  {
    letters,
    view,
    start,
  }: { letters: readonly DeadLetter[]; view: View | undefined; start: RecordedStart | undefined },
) {
  const id = projectionId(spec);
  return {
    ...NO_VIEW,
    paused: view?.paused ?? null,
    staged: view?.staged ?? null,
    name: spec.name,
    kind: spec.kind,
    reads:
      spec.kind === 'ingest'
        ? [sourceOfIngest(spec)]
        : sourcesOf(spec).map(({ container, type }) => `${container}/${type}`),
    /** Where it begins, once a host has recorded it. */
    start: start ?? null,
    recorded: false,
    declared: [
      {
        id,
        into: goesInto(spec),
        parked: letters.filter(({ projection }) => projection === id).length,
      },
    ],
  };
}

export const projectionsShow = defineOperation({
  name: 'projections show',
  summary:
    'Show a projection, publish or ingest: where it begins, its versions, which is current, which is being built, and parked changes',
  examples: ['millrace projections show summaries', 'millrace projections show summaries --json'],
  shards: 'itself',
  effect: 'reads',
  argument: 'name',
  input: z.object({ name: required('the projection, publish or ingest') }),
  run: async ({ name }, context) => {
    const parts = await partsOf(context);
    const { services, loaded } = parts;
    const { pipeline } = loaded;
    const parked = async (): Promise<DeadLetter[]> =>
      (await inPlaces(await placesOf(parts).list(), ({ services: at }) => readDeadLetters(at))).flat();
    const stream = streamOf(pipeline, name);
    const recorded = await new Views(services.global.state, pipeline.name).read();
    if (stream) {
      const starts = await readStarts(services.place.state, pipeline.name);
      const letters = await parked();
      return showStream(stream, { letters, view: recorded?.[stream.name], start: starts?.[projectionId(stream)] });
    }
    const others = [...pipeline.effects, ...pipeline.publishes, ...pipeline.ingests];
    const spec = chooseProjection(pipeline, name, 'highest', others);
    const letters = await parked();
    const view = recorded?.[spec.name] ?? NO_VIEW;
    return {
      name: spec.name,
      kind: spec.kind,
      reads: sourcesOf(spec).map(({ container, type }) => `${container}/${type}`),
      /** False: no host has read a change yet. */
      recorded: recorded !== undefined,
      start: null,
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
  format: ({ name, kind, reads, recorded, start, current, staged, previous, paused, declared }) =>
    [
      `${name}: ${kind} of ${reads.join(', ')}`,
      ['publish', 'ingest', 'react', 'send', 'table', 'custom'].includes(kind)
        ? '  no versions side by side: hosts run it as pipeline.ts has it'
        : current
          ? `  current: version ${current.version}, in ${current.container}/${current.type}`
          : recorded
            ? `  never built: run \`millrace projections rebuild ${name}\``
            : '  no host has read a change yet; the first one that does makes the lowest version current',
      ...(start ? [`  begins at ${sayBegin(start)}, recorded at ${start.at}`] : []),
      ...(staged ? [`  ${staged.phase}: version ${staged.version}${sayInto(staged)}, since ${staged.since}`] : []),
      ...(previous
        ? [
            `  before: version ${previous.version}, in ${previous.container}/${previous.type}, readable until ${previous.readableUntil}${sayKept(previous)}`,
          ]
        : []),
      ...(paused
        ? [`  paused by ${paused.by} at ${paused.since}${paused.reason === '' ? '' : `: ${paused.reason}`}`]
        : []),
      ...declared.map(({ id, into, parked }) => `  version: ${id} into ${into}, ${plural(parked, 'change')} parked`),
    ].join('\n'),
});

/** A content of a sink has no type; a custom projection is filled in place. */
function sayInto({ container, type }: Staged): string {
  if (container === '') return '';
  return `, into ${container}${type === '' ? '' : `/${type}`}`;
}

function sayKept({ keptUntil, notKept }: Previous): string {
  if (notKept !== undefined) return `; no longer kept: ${notKept}`;
  return keptUntil === undefined ? '' : `; kept until ${keptUntil}, and can become current again until then`;
}
