import { z } from 'zod';
import { checkPipeline } from '../pipeline/check/check-pipeline.ts';
import type { Finding } from '../pipeline/specs.ts';
import { type PipelinePlan, type ProjectionPlan, planOf } from '../pipeline/plan/plan.ts';
import { factsOf } from '../model/rules/index.ts';
import { n } from '../model/rules/rule.ts';
import { type Deployed, againstDeployed, sayDeployed } from '../procedures/plan/plan-deployed.ts';
import { type PlannedStart, plannedStarts, sayStart } from '../procedures/plan/plan-starts.ts';
import { readPair } from './model/pair.ts';
import { operationPlaces, placeInput } from './at-places.ts';
import { operationsError } from '../procedures/errors.ts';
import { defineOperation } from './operation.ts';
import { plural } from '../procedures/table.ts';
import { runtimeError } from '../runtime/errors.ts';
import { modelOf } from '../runtime/pipeline/load-pipeline.ts';
import type { Workspace } from '../runtime/workspace.ts';

/** The result of `millrace plan`. With an error in `findings` no host would start. */
interface Planned extends PipelinePlan {
  readonly findings: readonly Finding[];
  /** The model has no examples, so that a function that changes under its version isn't noticed. */
  readonly unguarded?: true;
  /** The shard map of a pipeline over shards. */
  readonly shards?: string;
  /** The deployments that function apps take with the number of shards that was asked for. */
  readonly functionApps?: number;
  readonly deployed?: readonly Deployed[];
  readonly starts?: readonly PlannedStart[];
  /** Of a pipeline over shards: the same in each place. */
  readonly places?: readonly PlannedPlace[];
}

/** One place against what is deployed there. */
interface PlannedPlace {
  /** The shard, or the database of the settings. */
  readonly place: string;
  readonly global: boolean;
  readonly deployed: readonly Deployed[];
  readonly starts: readonly PlannedStart[];
}

const UNGUARDED =
  'The model has no examples: Millrace doesn’t notice a `map`, `where` or `groupBy` that changes under its version.';

/** Most shards for which a deployment of a function app each is worth it. */
const MOST_SHARDS_OF_APPS = 10;

export const plan = defineOperation({
  name: 'plan',
  summary: 'Plan each projection: show how Millrace keeps it and why, what a change costs, and what would be cheaper',
  examples: [
    'millrace plan',
    'millrace plan --pipeline examples/flights --json',
    'millrace plan --against deployed',
    'millrace plan --against deployed --shard west',
    'millrace plan --shards 12',
  ],
  shards: 'itself',
  effect: 'reads',
  input: z.object({
    against: z
      .enum(['deployed'])
      .optional()
      .describe('also compare with what runs on the account, and show the cost; exit code 1 if a change is refused'),
    ...placeInput,
    shards: z.coerce
      .number()
      .int()
      .positive()
      .optional()
      .describe('the number of shards, to see how many deployments function apps take; for a pipeline over shards'),
  }),
  run: async ({ against, shard, shards }, { workspace }): Promise<Planned> => {
    const declared = await workspace.declared(workspace.folder);
    if (!declared) throw runtimeError('pipeline-missing', `There is no pipeline.ts in ${workspace.folder}`);
    if ('unloadable' in declared) throw declared.unloadable;
    const { pipeline } = declared;
    const { documents, folder } = await readPair(workspace, undefined, { optional: true });
    const model = await modelOf(pipeline, folder);
    if (shard !== undefined && against === undefined)
      throw operationsError('input-invalid', '--shard is given without --against deployed', {
        hint: 'The plan is the same in every shard. With `--against deployed` it is compared with what runs in one.',
      });
    if (shards !== undefined && !pipeline.shards)
      throw operationsError('input-invalid', '--shards is given, and the pipeline is not over shards');
    const planned = {
      ...planOf(pipeline, model, factsOf(documents)),
      findings: checkPipeline(pipeline, model),
      ...(pipeline.model.examples === undefined && { unguarded: true as const }),
      ...(pipeline.shards && { shards: pipeline.shards.map }),
      // One more for the global place.
      ...(shards !== undefined && { functionApps: shards + 1 }),
    };
    if (against === undefined) return planned;
    const places = await operationPlaces(workspace, 'plan', 'every', shard);
    if (!places) return { ...planned, ...(await deployedAt(workspace)) };
    const compared: PlannedPlace[] = [];
    for (const { name: place, global, workspace: at } of places)
      compared.push({ place, global, ...(await deployedAt(at)) });
    return { ...planned, places: compared };
  },
  format: ({ projections, circles, findings, unguarded, shards, functionApps, deployed, starts = [], places = [] }) =>
    [
      ...projections.map(text),
      ...findings.map(({ severity, message, hint }) => `${severity}: ${message}. ${hint}`),
      ...circles.map((names) => `In a circle: ${[...names, names[0]].join(' → ')}`),
      ...(unguarded ? [UNGUARDED] : []),
      ...(deployed ? [sayAgainst('Against what is deployed', { deployed, starts })] : []),
      ...places.map(({ place, global, ...found }) =>
        sayAgainst(`Against what is deployed in the ${global ? 'global place' : 'shard'} ${place}`, found),
      ),
      ...(shards === undefined ? [] : [sayHosts(shards, functionApps)]),
      `${plural(projections.length, 'projection')}. RU are published figures for the documents' own sizes. N: the number of changes of a page in one group.`,
    ].join('\n\n'),
  ok: ({ circles, findings, deployed = [], places = [] }) =>
    circles.length === 0 &&
    !findings.some(({ severity }) => severity === 'error') &&
    ![...deployed, ...places.flatMap((place) => place.deployed)].some(({ state }) => state === 'refused'),
});

type Found = Pick<PlannedPlace, 'deployed' | 'starts'>;

async function deployedAt(workspace: Workspace): Promise<Found> {
  const [{ pipeline, model }, services] = [await workspace.pipeline(), await workspace.services()];
  return {
    deployed: await againstDeployed(pipeline, model, services),
    starts: await plannedStarts(pipeline, services),
  };
}

const sayAgainst = (title: string, { deployed, starts }: Found): string =>
  [`${title}:`, ...deployed.map((one) => `  ${sayDeployed(one)}`), ...starts.map((one) => `  ${sayStart(one)}`)].join(
    '\n',
  );

function sayHosts(map: string, apps: number | undefined): string {
  const over = `Over the shards of ${map}:`;
  const all = '`millrace run` works on all places in one process, and finds shards that are added';
  const each = 'a function app works on one place, so each shard takes a deployment, and the global place one';
  if (apps === undefined)
    return `${over} ${all}; ${each}. Above ${MOST_SHARDS_OF_APPS} shards take \`millrace run\`. \`--shards N\` counts the deployments.`;
  const take =
    apps - 1 > MOST_SHARDS_OF_APPS
      ? `Take \`millrace run\`: each of them is deployed and watched by itself, and a new shard needs another.`
      : 'Both will do.';
  return `${over} ${all}; ${each}: ${plural(apps, 'deployment')}. ${take}`;
}

const sayBegins = (begins: NonNullable<ProjectionPlan['begins']>): string => {
  if (begins === 'beginning') return 'at the beginning: with every document';
  return begins === 'now'
    ? 'now, when a host first runs it: documents that were there before count once they are written again'
    : `with documents that were last written at ${begins} or later`;
};

function text(of: ProjectionPlan): string {
  const { each, shared } = of.ru;
  const ru = shared > 0 ? `${n(each)} + ${n(shared)}/N` : n(each);
  const requests = of.steps.filter(({ shared: once }) => !once).length;
  const perSecond =
    of.changes === undefined
      ? ''
      : `; ${n(of.changes)} changes/s at the peak, ${n(of.changes * (each + shared))} RU/s at N = 1`;
  const lines = [
    `${of.id}  ${of.kind}  ${of.from.join(', ')} → ${of.into}`,
    `  mode      ${of.mode}`,
    `  because   ${of.reason}.`,
    ...(of.begins === undefined ? [] : [`  begins    ${sayBegins(of.begins)}.`]),
    ...(of.steps.length > 0
      ? [`  a change  ${ru} RU, ${plural(requests, 'item operation')}${shared > 0 ? ' + 2/N' : ''}${perSecond}`]
      : []),
    ...of.steps.map((step) => `            ${step.what}: ${n(step.ru)} RU${step.shared ? ' /N' : ''}`),
    ...(of.cheaper === undefined ? [] : [`  cheaper   ${of.cheaper}.`]),
    ...of.fanOut.map((line) => `  fan-out   ${line}.`),
    ...(of.indexes.length > 0 ? [`  indexes   ${of.indexes.join(' ')}`] : []),
    ...of.notes.map((note) => `  note      ${note}`),
  ];
  return lines.join('\n');
}
