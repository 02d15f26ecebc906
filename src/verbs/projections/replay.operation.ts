import { z } from 'zod';
import { optional, required } from '../flags.ts';
import { ruOfReplay } from '../../pipeline/kind-facts.ts';
import { sharedError } from '../../base/shared-errors.ts';
import type { UsageError } from '../../base/errors.ts';
import { parseDate } from '../../pipeline/date.ts';
import {
  type Pipeline,
  type ProjectionSpec,
  type PublishSpec,
  type ReplayedSpec,
  projectionId,
} from '../../pipeline/specs.ts';
import { Views } from '../../engine/views/views.ts';
import type { Start } from '../../feed/reading/source.ts';
import type { Model } from '../../model/model.ts';
import { audited } from '../../procedures/journal/runs.ts';
import { comparedSets, renumbered } from '../../procedures/checkpoints/store.ts';
import { assertSideContainer } from '../../procedures/migrate/side-container.ts';
import { type Enqueued, backgroundInput, enqueue, isEnqueued, sayEnqueued } from '../jobs/background.ts';
import type { Context } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { secondsToWrite } from '../../procedures/seconds.ts';
import { plural } from '../../procedures/table.ts';
import { placesOf } from '../../runtime/places.ts';
import type { Parts } from '../../runtime/open-feed.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { chooseNoted, chooseReplayed, projectionTargetOf } from '../../procedures/projections/choose.ts';
import { countChanges } from '../../procedures/replay/count.ts';
import { RU_A_NOTE, RU_A_READ, rateInput } from '../../procedures/projections/estimate.ts';
import { type MovedKeys, movedMeanwhile, sayMoved } from '../../procedures/verify/moved-meanwhile.ts';
import { currentOf } from '../../procedures/verify/verify.ts';
import { askedTenant, tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import { assertStill } from '../../procedures/tenants/tenant-moves.ts';
import { sayRefused } from '../../procedures/rebuild/fill.ts';
import { type Replayed, type ReplayOptions, replay } from '../../procedures/replay/replay.ts';
import { operationsError } from '../../procedures/errors.ts';

type StartOf = (container: string, rid: string) => Start;

const input = z.object({
  name: required('the projection, as name (its current version) or name@version'),
  from: z.string().default('beginning').describe('beginning (archive included), or a time: 2026-06-03T12:00:00Z'),
  checkpoint: optional('instead of --from: a checkpoint of `millrace checkpoints save`'),
  into: optional('write into another container of the model with the same key; the live sink does not change'),
  to: optional('a publish: publish to another event hub; what was published last stays noted'),
  note: z
    .boolean()
    .default(false)
    .describe('have no effects: only record what the documents are, before others write into them'),
  ...tenantInput,
  ...rateInput,
  ...backgroundInput,
});
type ReplayInput = z.output<typeof input>;

export const projectionsReplay = defineOperation({
  name: 'projections replay',
  summary: 'Replay the changes of a projection’s sources from a point in time; live leases do not move',
  examples: [
    'millrace projections replay summaries --from 2026-06-03T12:00:00Z --dry-run',
    'millrace projections replay summaries --checkpoint before-deploy',
    'millrace projections replay summaries --tenant store-1',
    'millrace projections replay summaries --into SummariesCheck --ru-per-second 500',
    'millrace projections replay orders-out --from 2026-06-03 --to orders-backfill',
    'millrace projections replay mails --note --dry-run',
  ],
  shards: 'itself',
  effect: 'changes',
  bulk: true,
  argument: 'name',
  input,
  plan: async (asked, context) => {
    const { options } = await prepare(asked, context);
    const { changes } = await countChanges(options);
    const each = asked.note ? RU_A_NOTE : ruOfReplay(options.spec);
    const ru = Math.ceil(changes * (each + RU_A_READ));
    const id = projectionId(options.spec);
    const what = asked.note
      ? `note what ${plural(changes, 'document')} of ${id} are, without effects`
      : `apply ${plural(changes, 'change')} to ${id} in ${projectionTargetOf(options.spec)} again`;
    return {
      steps: [`${what}${asked.tenant === undefined ? '' : `, but only those of tenant ${asked.tenant}`}`],
      ru,
      seconds: secondsToWrite(changes, ru, asked.ruPerSecond),
    };
  },
  run: async (asked, context): Promise<ReplayedResult | Enqueued> => {
    const { options } = await prepare(asked, context);
    if (asked.background) return enqueue('projections replay', asked, context);
    const { screen, signal } = context;
    return audited(context, 'projections replay', asked, async () => {
      const { tenant } = asked;
      // What moves meanwhile would be read in neither shard, or as a copy of what was applied.
      const assertUnmoved =
        tenant === undefined ? undefined : await assertStill(options, askedTenant(options.loaded, tenant), signal);
      const done = asked.note ? 'noted' : 'replayed';
      const progress = (changes: number): void => screen.progress(`${projectionId(options.spec)}: ${done}`, changes);
      const movedSince =
        tenant === undefined && (await readsShards(options)) ? await movedMeanwhile(options, signal) : undefined;
      const refused = (why: string): void => screen.line(sayRefused(options.spec, why));
      const replayed = await replay({ ...options, progress, refused });
      await assertUnmoved?.();
      const moved = (await movedSince?.()) ?? [];
      return { ...replayed, ...(asked.note && { noted: true }), ...(moved.length > 0 && { moved }) };
    });
  },
  format: (result) =>
    isEnqueued(result)
      ? sayEnqueued(result)
      : [
          `${sayReplayed(result)}${Math.round(result.charge).toLocaleString('en-US')} RU, ${result.parked.toLocaleString('en-US')} parked.`,
          ...(result.startedOver === undefined ? [] : [`It began again: ${result.startedOver}.`]),
          ...sayMoved(result.moved ?? [], () => 'the same command again when no key moves'),
        ].join('\n'),
  ok: (result) => isEnqueued(result) || result.moved === undefined,
});

const sayReplayed = ({ projection, changes, container, changed, noted }: ReplayedResult): string =>
  noted
    ? `${plural(changes, 'document')} of ${projection} noted, without effects: `
    : `${plural(changes, 'change')} of ${projection} replayed into ${container}: ${changed === null ? '' : `${plural(changed, 'document')} changed, `}`;

interface ReplayedResult extends Replayed {
  /** It had no effects. */
  readonly noted?: boolean;
  /** Keys that moved to another shard meanwhile: perhaps their documents were read in none. Absent: none. */
  readonly moved?: readonly MovedKeys[];
}

const readsShards = async (options: ReplayOptions): Promise<boolean> =>
  (await placesOf(options).of(options.spec)).some(({ shard }) => shard !== undefined);

async function prepare(asked: ReplayInput, { workspace, signal }: Context): Promise<{ options: ReplayOptions }> {
  const loaded = await workspace.pipeline();
  const asking = asked.tenant === undefined ? undefined : askedTenant(loaded, asked.tenant);
  const services = await workspace.services();
  const settings = workspace.settings();
  const { checkpoint } = asked;
  const alone = asking && loaded.pipeline.shards && (await placesOf({ settings, services, loaded }).home(asking.value));
  const views = await new Views(services.global.state, loaded.pipeline.name).read();
  const { projections } = loaded.pipeline;
  if (asked.note && (asked.into ?? asked.to) !== undefined)
    throw operationsError('input-invalid', '--note writes nothing but records', { hint: 'Leave out --into and --to.' });
  const live = asked.note
    ? chooseNoted(loaded.pipeline, loaded.model, asked.name)
    : (currentOf(projections, views).find(({ name }) => name === asked.name) ??
      chooseReplayed(loaded.pipeline, asked.name));
  const side = asked.into === undefined ? undefined : sideSpec(live, asked.into, loaded.model);
  const spec = side ?? (asked.to === undefined ? live : sideHub(live, asked.to));
  const pipeline: Pipeline = side ? { ...loaded.pipeline, projections: [...projections, side] } : loaded.pipeline;
  const startOf = await startsOf(asked, services, signal);
  const start = checkpoint ?? asked.from;
  return {
    options: {
      settings,
      services,
      loaded: { ...loaded, pipeline } satisfies Pick<LoadedPipeline, 'pipeline' | 'model'>,
      spec,
      startOf,
      ...(loaded.pipeline.shards && checkpoint !== undefined && { startsIn: startsAt(checkpoint, signal) }),
      from: start,
      cold: start === 'beginning' && !asked.note,
      note: asked.note,
      ruPerSecond: asked.ruPerSecond,
      tenant: asking?.tenant,
      shards: alone === undefined ? undefined : new Set([alone]),
      signal,
    },
  };
}

/** The same projection into another container, under its own name, so that it also has its own state documents. */
function sideSpec(spec: ReplayedSpec, container: string, model: Model): ProjectionSpec {
  if (!('into' in spec)) {
    throw operationsError(
      'input-invalid',
      `--into names a container, and ${projectionId(spec)} writes to ${projectionTargetOf(spec)}`,
      {
        hint: `Leave out --into${spec.kind === 'publish' ? ', or name an event hub: --to HUB' : ''}.`,
      },
    );
  }
  if (spec.kind === 'embed') {
    throw sharedError('unsupported', `${projectionId(spec)} is an embed: it only writes in place`, {
      hint: 'Leave out --into. `millrace projections verify` shows what would change.',
    });
  }
  assertSideContainer(container, spec.into.container, model);
  return { ...spec, name: `${spec.name}-side`, into: { ...spec.into, container }, typedAs: spec.into };
}

/** The same publish to another hub, under its own name, so that it has its own dead letters. Its events keep their ids. */
function sideHub(spec: ReplayedSpec, hub: string): PublishSpec {
  if (spec.kind !== 'publish') {
    throw operationsError('input-invalid', `--to names an event hub, and ${projectionId(spec)} is no publish`, {
      hint: 'Leave out --to. --into names another container.',
    });
  }
  const { name, version } = spec;
  return { ...spec, name: `${name}-side`, to: hub, idsOf: { name, version } };
}

async function startsOf({ from, checkpoint }: ReplayInput, services: Services, signal: AbortSignal): Promise<StartOf> {
  if (checkpoint !== undefined) {
    const sets = await comparedSets(services, checkpoint, signal);
    return (container, rid) => {
      const set = sets.find((of) => of.rid === rid);
      if (set?.renumbered) throw renumbered(checkpoint, container);
      if (set) return set.positions;
      const other = sets.some((of) => of.container === container);
      throw foreign(
        `Checkpoint ${checkpoint}`,
        container,
        other ? 'an earlier container of that name' : sets.map((of) => of.container).join(', '),
      );
    };
  }
  if (from === 'beginning') return () => 'beginning';
  const time = parseDate(from);
  if (time !== undefined) return () => new Date(time);
  throw operationsError('input-invalid', `--from ${JSON.stringify(from)} is neither beginning nor a time`, {
    hint: 'Write it as 2026-06-03 or 2026-06-03T12:00:00Z.',
  });
}

/**
 * In one place. A container that the checkpoint doesn't know is that of a shard that was added since: all of it is later. One
 * of the global place that several shards read has positions of each of them.
 */
const startsAt =
  (checkpoint: string, signal: AbortSignal) =>
  async ({ services }: Pick<Parts, 'services'>): Promise<StartOf> => {
    const sets = await comparedSets(services, checkpoint, signal);
    return (container, rid) => {
      const [set, ...others] = sets.filter((of) => of.rid === rid && of.container === container);
      if (set?.renumbered) throw renumbered(checkpoint, container);
      return set && others.length === 0 ? set.positions : 'beginning';
    };
  };

const foreign = (what: string, container: string, of: string): UsageError =>
  sharedError(
    'position-unusable',
    `${what} belongs to ${of}, but the projection reads ${container}: positions have no meaning in another container`,
  );
