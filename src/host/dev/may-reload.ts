// What a changed pipeline means for a run of `dev`, which goes over to it only if it can.
import { basename } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import type { Settings } from '../../base/settings.ts';
import { type Pipeline, projectionId } from '../../pipeline/specs.ts';
import { misspelt } from '../../pipeline/fingerprint.ts';
import { Fingerprints, fingerprinted } from '../../engine/guard-fingerprints.ts';
import { Views } from '../../engine/views/views.ts';
import { checkDocuments } from '../../model/rules/index.ts';
import { readPair } from '../../verbs/model/pair.ts';
import { plural } from '../../procedures/table.ts';
import { placesOf } from '../../runtime/places.ts';
import type { LoadedPipeline, Services, Workspace } from '../../runtime/workspace.ts';
import { hostError } from '../errors.ts';

/** The others are in `model check`. */
const ERRORS_SHOWN = 3;

export interface ReloadParts {
  readonly settings: Settings;
  readonly services: Services;
}

/**
 * @throws UsageError `dev-restart`: the servers of the run lack something; `dev-restart`: by the rules of versions the
 * new pipeline would not go on with the data that is there
 */
export async function assertReloadable(
  before: LoadedPipeline,
  next: LoadedPipeline,
  parts: ReloadParts,
): Promise<void> {
  assertServed(before.pipeline, next.pipeline);
  const { services } = parts;
  const views = (await new Views(services.global.state, next.pipeline.name).read()) ?? {};
  const declared = new Set(next.pipeline.projections.map(projectionId));
  for (const [name, { current }] of Object.entries(views)) {
    if (!current || declared.has(projectionId({ name, version: current.version }))) continue;
    const id = projectionId({ name, version: current.version });
    throw hostError('dev-restart', `${id} is current in the data of this run, and the pipeline no longer declares it`, {
      hint: `Declare it until another version is promoted. To remove it for good, run \`millrace projections drop ${name}\` in another terminal, then save a file of the pipeline.`,
    });
  }
  for (const { loaded, open } of await placesOf({ ...parts, loaded: next }).list()) {
    const fingerprints = new Fingerprints((await open()).services.place.state, loaded);
    for (const spec of fingerprinted(loaded.pipeline)) {
      const changes = await fingerprints.changes(spec);
      if (changes.length === 0) continue;
      const { name, version } = spec;
      throw hostError('dev-restart', `${projectionId(spec)} has written data that doesn't fit: ${changes.join('; ')}`, {
        hint: `${misspelt(spec, loaded.model)}Declare version ${version + 1} of ${name} beside version ${version}, with a ${spec.kind === 'aggregate' ? 'type' : 'container'} of its own, or start \`millrace dev\` again with new data.`,
      });
    }
  }
}

/** Servers and containers of a run are there from its start. */
function assertServed(before: Pipeline, next: Pipeline): void {
  const refuse = (what: string): never => {
    throw hostError('dev-restart', `${what}, and the servers of this run don't have it`);
  };
  if (next.name !== before.name)
    throw hostError(
      'dev-restart',
      `The pipeline was ${before.name} and is ${next.name} now, which is another pipeline`,
    );
  if (JSON.stringify(next.shards) !== JSON.stringify(before.shards)) refuse('The pipeline has another shard map');
  if (usesBlobs(next) && !usesBlobs(before)) refuse('The pipeline needs Blob Storage now');
  if (hasTables(next) && !hasTables(before)) refuse('The pipeline has tables now');
  const served = new Set(hubsOf(before));
  const missing = hubsOf(next).find((hub) => !served.has(hub));
  if (missing !== undefined) refuse(`The pipeline uses the event hub ${missing} now`);
}

export const usesBlobs = ({ archives, ingests }: Pipeline): boolean => archives.length + ingests.length > 0;
export const hasTables = ({ effects }: Pipeline): boolean => effects.some(({ kind }) => kind === 'table');

/** Event hubs, those that are ingested with their consumer group. */
const hubsOf = ({ publishes, ingests }: Pipeline): string[] => [
  ...publishes.map(({ to }) => to),
  ...ingests.map(({ from, consumerGroup }) => `${from} (consumer group ${consumerGroup})`),
];

/** What is new for readers of the run's output: projections by name, and findings of `model check`. */
export async function sayReloaded(before: Pipeline, next: LoadedPipeline, workspace: Workspace): Promise<string[]> {
  const [was, is] = [specsOf(before), specsOf(next.pipeline)];
  const added = [...is.keys()].filter((id) => !was.has(id));
  const removed = [...was.keys()].filter((id) => !is.has(id));
  const changed = [...is].flatMap(([id, text]) => (was.has(id) && was.get(id) !== text ? [id] : []));
  const parts = [
    ...(added.length > 0 ? [`new: ${added.join(', ')}`] : []),
    ...(removed.length > 0 ? [`removed: ${removed.join(', ')}`] : []),
    ...(changed.length > 0 ? [`changed: ${changed.join(', ')}`] : []),
  ];
  const stored = next.pipeline.projections.map(projectionId).filter((id) => changed.includes(id));
  return [
    `checked and reloaded${parts.length > 0 ? ` (${parts.join('; ')})` : '; every declaration is as before'}`,
    ...stored.map(
      (id) =>
        `  ${id}: what it wrote before stays as it is. \`millrace projections verify ${id.split('@')[0] ?? ''} --repair\` writes it again.`,
    ),
    ...(await findingsOf(workspace)),
  ];
}

/** By id, everything that is declared; functions by their text. */
const specsOf = (pipeline: Pipeline): Map<string, string> =>
  new Map(
    [
      ...pipeline.projections,
      ...pipeline.embeds,
      ...pipeline.effects,
      ...pipeline.publishes,
      ...pipeline.ingests,
      ...pipeline.archives,
    ].map((spec) => [projectionId(spec), textOf(spec)]),
  );

const textOf = (spec: object): string => {
  const seen = new WeakSet<object>();
  return JSON.stringify(spec, (_, value: unknown) => {
    if (typeof value === 'function' || typeof value === 'bigint') return String(value);
    if (!isObject(value)) return value;
    // A sink may hold clients, and refer to itself.
    if (seen.has(value) || Object.getPrototypeOf(value) !== Object.prototype) return undefined;
    seen.add(value);
    return value;
  });
};

async function findingsOf(workspace: Workspace): Promise<string[]> {
  try {
    const { documents, rules } = await readPair(workspace, undefined, { optional: true });
    const { findings } = checkDocuments(documents, rules);
    const errors = findings.filter(({ severity }) => severity === 'error');
    const warnings = findings.filter(({ severity }) => severity === 'warning');
    if (errors.length + warnings.length === 0) return [];
    return [
      ...errors
        .slice(0, ERRORS_SHOWN)
        .map(({ rule, at, message }) => `  error ${rule} ${basename(at.file)}:${at.line}: ${message}`),
      `  It has ${plural(errors.length, 'error')} and ${plural(warnings.length, 'warning')}: see \`millrace model check\`.`,
    ];
  } catch (error) {
    return [`  \`millrace model check\` can't read the documents: ${messageOf(error)}`];
  }
}
