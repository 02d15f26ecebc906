import { z } from 'zod';
import { flag, required } from '../flags.ts';
import { VIEWS_REFRESH_MS } from '../../engine/views/view-control.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import { type Pipeline, type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { isApplied } from '../../engine/views/kept.ts';
import { type View, Views } from '../../engine/views/views.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { partsOf } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { chooseProjection, findSink, splitId } from '../../procedures/projections/choose.ts';
import { assertEndable, assertStillWritten } from '../../procedures/projections/still-written.ts';
import { assertHostsDeclare } from '../../procedures/promote/hosts-declare.ts';
import { backTables, keptTables } from '../../procedures/promote/back-tables.ts';
import { filledTarget, swapSink } from '../../procedures/rebuild/rebuild-sink.ts';
import { promote, assertFilled } from '../../procedures/promote/promote.ts';
import { keptOf, promoteBack } from '../../procedures/promote/promote-back.ts';

const HELD_S = Math.ceil((VIEWS_REFRESH_MS + 5_000) / 1000);

export const projectionsPromote = defineOperation({
  name: 'projections promote',
  summary: 'Promote a filled version, or a filled content of a sink: readers switch to it, all at one moment',
  examples: [
    'millrace projections promote summaries --dry-run',
    'millrace projections promote summaries --env production',
    'millrace projections promote product-search',
    'millrace projections promote summaries --keep 24h',
    'millrace projections promote summaries --back',
    'millrace projections promote orders@1 --back',
  ],
  shards: 'itself',
  effect: 'changes',
  argument: 'name',
  input: z.object({
    name: required('the projection, as name or name@version'),
    evenParked: flag('promote although the new version has dead letters that the previous one does not have'),
    keep: z
      .string()
      .regex(/^(0|[1-9]\d{0,5}[smh])$/, 'must be 0, or a number of seconds, minutes or hours, such as 1h')
      .default('1h')
      .describe(
        'how long hosts keep the previous version, so that it can become current again at once (0: not at all)',
      ),
    back: flag('make the previous version current again, while hosts keep it'),
  }),
  plan: async ({ name, keep, back }, { workspace, signal }) => {
    const loaded = await workspace.pipeline();
    const { pipeline } = loaded;
    const services = await workspace.services();
    const { state } = services.global;
    const given = splitId(name);
    const all = (await new Views(state, pipeline.name).read()) ?? {};
    const view = all[given.name];
    const sink = findSink(pipeline, name);
    if (back && sink) {
      const kept = await keptTables(pipeline, name, signal);
      return {
        steps: [
          `let readers of ${given.name} see ${projectionId(kept)} in the content that they had before; hosts have written it too`,
          ...(keep === '0' ? [] : [`keep the content that they have now for ${keep}: hosts write both`]),
        ],
        ru: 0,
      };
    }
    if (back) {
      const spec = chooseKept(pipeline, name, view);
      if (view?.current?.version === spec.version) return { steps: [], ru: 0 };
      assertStillWritten(pipeline, all, given.name, keptOf(view, given.name, spec.version));
      await assertHostsDeclare(services, loaded, spec, signal);
      const reads = new Set([...(view?.current?.reads ?? []), ...sourcesOf(spec)].map(({ container }) => container));
      return {
        steps: [
          `stop applying changes of ${[...reads].join(', ')} for about ${HELD_S} s`,
          `let ${projectionId(spec)} read what only the current version may have`,
          `make ${projectionId(spec)} current again; readers find it in ${spec.into.container}`,
          ...sayKeep(keep, given.name),
        ],
        ru: 0,
        seconds: HELD_S,
      };
    }
    if (sink) {
      const { container } = filledTarget(view, sink);
      return {
        steps: [
          `catch up ${container}`,
          `stop applying changes of ${sink.from.container} for about ${HELD_S} s`,
          `make ${container} the content of the sink of ${sink.name}`,
          ...(sink.kind === 'table' && keep !== '0' ? [`keep the content before for ${keep}: hosts write both`] : []),
        ],
        ru: 0,
        seconds: HELD_S,
      };
    }
    const { version } = chooseStaged(pipeline, name, view);
    assertFilled(view, given.name, version);
    const { current, staged, previous } = view;
    // It is current already. A run removes what one that died has left, and ends the grace by --keep 0.
    if (!staged) {
      const ends = keep === '0' && previous && isApplied(previous, Date.now());
      if (ends) assertEndable(pipeline, all, given.name);
      const before = ends && projectionId({ ...given, version: previous.version });
      return {
        steps: before ? [`no longer keep ${before}: hosts apply changes to ${given.name}@${version} alone`] : [],
        ru: 0,
      };
    }
    assertStillWritten(pipeline, all, given.name, staged);
    await assertHostsDeclare(services, loaded, { ...given, version }, signal);
    const reads = [...new Set([...(current?.reads ?? []), ...staged.reads].map(({ container }) => container))];
    return {
      steps: [
        `catch up ${given.name}@${version}`,
        `stop applying changes of ${reads.join(', ')} for about ${HELD_S} s`,
        `make ${given.name}@${version} current; readers find it in ${staged.container}`,
        ...sayKeep(keep, given.name),
      ],
      ru: 0,
      seconds: HELD_S,
    };
  },
  run: async ({ name, evenParked, keep, back }, context) => {
    const parts = await partsOf(context);
    const { services, loaded } = parts;
    const progress = (changes: number): void => context.screen.progress('caught up', changes);
    const keepMs = milliseconds(keep);
    const sink = findSink(loaded.pipeline, name);
    if (back && sink) {
      const spec = await keptTables(loaded.pipeline, name, context.signal);
      return audited(context, 'projections promote', { name: projectionId(spec), back, keep }, () =>
        backTables({ ...parts, spec, keepMs }),
      );
    }
    if (back) {
      const before = (await new Views(services.global.state, loaded.pipeline.name).read())?.[splitId(name).name];
      const kept = chooseKept(loaded.pipeline, name, before);
      return audited(context, 'projections promote', { name: projectionId(kept), back, evenParked, keep }, () =>
        promoteBack({ ...parts, spec: kept, evenParked, keepMs }),
      );
    }
    if (sink)
      return audited(context, 'projections promote', { name, evenParked, keep }, () =>
        swapSink({ ...parts, spec: sink, evenParked, keepMs, progress }),
      );
    const given = splitId(name);
    const view = (await new Views(services.global.state, loaded.pipeline.name).read())?.[given.name];
    const spec = chooseStaged(loaded.pipeline, name, view);
    return audited(context, 'projections promote', { name, evenParked, keep }, () =>
      promote({
        ...parts,
        spec,
        evenParked,
        keepMs,
        progress,
      }),
    );
  },
  format: ({ projection, container, previous, readableUntil, keptUntil, heldMs }) =>
    [
      `${projection} is current, in ${container}. Changes waited for ${(heldMs / 1000).toFixed(1)} s.`,
      ...(previous && keptUntil !== null
        ? [
            `Until ${keptUntil} hosts keep ${previous} too, and apply changes to both. Until then \`millrace projections promote ${previous.split('@')[0] ?? ''} --back\` makes it current again.`,
          ]
        : []),
      ...(previous && keptUntil === null && readableUntil !== null
        ? [
            `${previous} is no longer updated. \`millrace projections drop ${previous}\` can remove it from ${readableUntil} on.`,
          ]
        : []),
    ].join('\n'),
});

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000 };

const milliseconds = (keep: string): number => Number.parseInt(keep, 10) * (UNITS[keep.slice(-1)] ?? 0);

const sayKeep = (keep: string, name: string): string[] =>
  keep === '0'
    ? []
    : [`keep the version before for ${keep}: hosts apply changes to both versions of ${name}, and spend RU on both`];

/** @throws UsageError `unsupported`, `not-found` */
function chooseStaged(pipeline: Pipeline, given: string, view: View | undefined): ProjectionSpec {
  const { name, version = view?.staged?.version } = splitId(given);
  return chooseProjection(pipeline, version === undefined ? given : projectionId({ name, version }));
}

/** @throws UsageError `no-way-back`, `unsupported`, `not-found` */
function chooseKept(pipeline: Pipeline, given: string, view: View | undefined): ProjectionSpec {
  const { name, version } = splitId(given);
  chooseProjection(pipeline, name);
  // Named and current: an earlier run has gone back already.
  if (version !== undefined && view?.current?.version === version) return chooseProjection(pipeline, given);
  return chooseProjection(pipeline, projectionId({ name, version: keptOf(view, name, version).version }));
}
