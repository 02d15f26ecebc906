import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { canonical, digest } from '../../base/json.ts';
import { refuseHistory } from '../../definition/all-versions.ts';
import { parseDate } from '../../definition/date.ts';
import { type EmbedSpec, type Pipeline, type ProjectionSpec, projectionId } from '../../definition/specs.ts';
import { Views } from '../../engine/views/views.ts';
import { parseContinuation } from '../../feed/reading/position.ts';
import type { Start } from '../../feed/reading/source.ts';
import type { Model } from '../../model/model.ts';
import { audited } from '../audit/record.ts';
import { readCheckpoint } from '../checkpoints/store.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import { type Context, defineOperation } from '../operation.ts';
import { suggestion } from '../../base/near.ts';
import { secondsToWrite } from '../seconds.ts';
import { plural } from '../table.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { chooseRebuilt } from './choose.ts';
import { countChanges } from './count.ts';
import { RU_A_DOCUMENT, RU_A_READ, rateInput } from './estimate.ts';
import { StagedHost, type StagedOptions } from '../../runtime/staged-host.ts';
import { currentOf } from './verify.ts';

type StartOf = (container: string, rid: string) => Start;

export interface Replayed {
  readonly projection: string;
  readonly container: string;
  readonly changes: number;
  readonly parked: number;
  /** Request units. */
  readonly charge: number;
}

export type ReplayOptions = Omit<StagedOptions, 'purpose'> & {
  /** Tells where it begins: a replay that was interrupted is gone on with by the same one. */
  readonly from: string;
  /** What has left for the archive as well: from the beginning only. */
  readonly cold: boolean;
  readonly signal: AbortSignal;
  readonly progress?: (changes: number) => void;
};

/**
 * Gives the feed, from some point on to what is its end, to one version again; the live leases stay where they are.
 * Versions decide what takes effect, so what is right stays as it is. May be stopped and run again.
 */
export async function replay(options: ReplayOptions): Promise<Replayed> {
  const { spec, from, cold, signal, progress, loaded } = options;
  refuseHistory(spec, loaded.pipeline, 'replayed');
  const purpose = `${projectionId(spec)}.replay-${digest([from, spec.into]).slice(0, 8)}`;
  await using staged = await StagedHost.open({ ...options, purpose });
  const telling = setInterval(() => progress?.(staged.progress().changes), 250);
  try {
    await staged.drained(signal);
    if (cold) await staged.applyCold(signal);
    await staged.drained(signal);
  } finally {
    clearInterval(telling);
  }
  progress?.(staged.progress().changes);
  await staged.stop();
  await staged.removeLeases();
  return { projection: projectionId(spec), container: spec.into.container, ...staged.progress() };
}

const input = z.object({
  name: z.string().describe('the projection, as name (its current version) or name@version'),
  from: z.string().default('beginning').describe('beginning (the archive included), or a time: 2026-06-03T12:00:00Z'),
  checkpoint: z.string().optional().describe('instead of --from: a checkpoint saved by `millrace checkpoints save`'),
  continuation: z
    .string()
    .optional()
    .describe('instead of --from: a continuation token of the SDK, for one source container'),
  into: z
    .string()
    .optional()
    .describe('another container of the model with the same key, to look at: the live sink stays as it is'),
  ...rateInput,
  ...backgroundInput,
});
type ReplayInput = z.output<typeof input>;

export const projectionsReplay = defineOperation({
  noun: 'projections',
  verb: 'replay',
  summary: 'Give a projection the changes of its sources again, from some point on; live leases are left alone',
  examples: [
    'millrace projections replay summaries --from 2026-06-03T12:00:00Z --dry-run',
    'millrace projections replay summaries --checkpoint before-deploy',
    'millrace projections replay summaries --into SummariesCheck --ru-per-second 500',
  ],
  effect: 'changes',
  argument: 'name',
  input,
  plan: async (asked, context) => {
    const { options } = await prepare(asked, context);
    const { changes } = await countChanges(options);
    const ru = Math.ceil(changes * (RU_A_DOCUMENT[options.spec.kind] + RU_A_READ));
    return {
      steps: [
        `apply ${plural(changes, 'change')} to ${projectionId(options.spec)} in ${options.spec.into.container} again`,
      ],
      ru,
      seconds: secondsToWrite(changes, ru, asked.ruPerSecond),
    };
  },
  run: async (asked, context): Promise<Replayed | Enqueued> => {
    const { options } = await prepare(asked, context);
    if (asked.background) return enqueue('projections replay', asked, context);
    const { screen } = context;
    return audited(context, 'projections replay', asked, () =>
      replay({
        ...options,
        progress: (changes) => screen.progress(`${projectionId(options.spec)}: replayed`, changes),
      }),
    );
  },
  format: (result) =>
    isEnqueued(result)
      ? sayEnqueued(result)
      : `${plural(result.changes, 'change')} given to ${result.projection} again, into ${result.container}: ${Math.round(result.charge).toLocaleString('en-US')} RU, ${result.parked.toLocaleString('en-US')} parked.`,
});

async function prepare(asked: ReplayInput, { workspace, signal }: Context): Promise<{ options: ReplayOptions }> {
  const loaded = await workspace.pipeline();
  const services = await workspace.services();
  const views = await new Views(services.state, loaded.pipeline.name).read();
  const { projections } = loaded.pipeline;
  const live =
    currentOf(projections, views).find(({ name }) => name === asked.name) ?? chooseRebuilt(loaded.pipeline, asked.name);
  refuseHistory(live, loaded.pipeline, 'replayed');
  const side = asked.into === undefined ? undefined : sideSpec(live, asked.into, loaded.model);
  const spec = side ?? live;
  const pipeline: Pipeline = side ? { ...loaded.pipeline, projections: [...projections, side] } : loaded.pipeline;
  const startOf = await startsOf(asked, services, signal);
  const told = asked.checkpoint ?? asked.continuation ?? asked.from;
  return {
    options: {
      settings: workspace.settings(),
      services,
      loaded: { ...loaded, pipeline } satisfies Pick<LoadedPipeline, 'pipeline' | 'model'>,
      spec,
      startOf,
      from: told,
      cold: told === 'beginning',
      ruPerSecond: asked.ruPerSecond,
      signal,
    },
  };
}

/** The same projection into another container, under a name of its own: what it keeps about its sources is its own as well. */
function sideSpec(spec: ProjectionSpec | EmbedSpec, container: string, { containers }: Model): ProjectionSpec {
  if (spec.kind === 'embed') {
    throw new UsageError('projection-in-place', `${projectionId(spec)} is an embed: it writes in place only`, {
      mend: 'Leave --into away; `millrace projections verify` says what would change.',
    });
  }
  const keyOf = (name: string) => containers.find((of) => of.name === name)?.partitionKey;
  if (keyOf(container) === undefined) {
    const known = containers.map(({ name }) => name);
    throw new UsageError(
      'container-unknown',
      `The model has no container ${container}${suggestion(container, known)}`,
      {
        mend: 'Add it to the data-model document, with the same partition key, and create it by `millrace model apply`.',
      },
    );
  }
  if (canonical(keyOf(container)) !== canonical(keyOf(spec.into.container))) {
    throw new UsageError(
      'container-key-differs',
      `${container} has another partition key than ${spec.into.container}`,
      {
        mend: `Give it ${(keyOf(spec.into.container) ?? []).join(', ')}.`,
      },
    );
  }
  return { ...spec, name: `${spec.name}-side`, into: { ...spec.into, container }, typedAs: spec.into };
}

async function startsOf(
  { from, checkpoint, continuation }: ReplayInput,
  services: Services,
  signal: AbortSignal,
): Promise<StartOf> {
  if (checkpoint !== undefined) {
    const { sets } = await readCheckpoint(services, checkpoint, signal);
    return (container, rid) => {
      const set = sets.find((of) => of.rid === rid);
      if (set) return set.positions;
      const other = sets.some((of) => of.container === container);
      throw foreign(
        `Checkpoint ${checkpoint}`,
        container,
        other ? 'an earlier container of that name' : sets.map((of) => of.container).join(', '),
      );
    };
  }
  if (continuation !== undefined) {
    const { rid: of, positions } = parseContinuation(continuation);
    return (container, rid) => {
      if (of === undefined || of === rid) return positions;
      throw foreign('The continuation', container, 'another container');
    };
  }
  if (from === 'beginning') return () => 'beginning';
  const time = parseDate(from);
  if (time !== undefined) return () => new Date(time);
  throw new UsageError('input-invalid', `--from ${JSON.stringify(from)} is neither beginning nor a time`, {
    mend: 'Write it as 2026-06-03 or 2026-06-03T12:00:00Z.',
  });
}

const foreign = (what: string, container: string, of: string): UsageError =>
  new UsageError('position-foreign', `${what} is not of ${container}, which the projection reads: it is of ${of}`, {
    mend: 'Positions mean nothing in another container. `millrace checkpoints list` shows what each is of; or give --from a time.',
  });
