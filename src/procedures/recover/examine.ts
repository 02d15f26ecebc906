import type { Container } from '@azure/cosmos';
import { verifyArchive } from '../../archive/verify.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { readItem } from '../../cosmos/read-item.ts';
import { type ProjectionSpec, projectionId } from '../../pipeline/specs.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { NO_VIEW, Views } from '../../engine/views/views.ts';
import { lsnOf } from '../../feed/reading/position.ts';
import { openSource } from '../../feed/reading/open-source.ts';
import { projectionDatabase } from '../../runtime/place-containers.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { planStorage } from '../archive/open.ts';
import { type LeaseInventory, lostGroups, openLeases } from '../leases/groups.ts';
import { rangeOf } from '../rewind/targets.ts';
import { planModel } from '../apply/apply.ts';
import type { ApplyStep } from '../apply/step.ts';
import type { Context } from '../context.ts';
import { plural } from '../table.ts';
import { findDeferred } from './deferred.ts';
import { findCheckpoints } from './checkpoints.ts';
import { countUnentered } from './entries.ts';
import type { RecoveryFinding } from './finding.ts';
import { findGates } from './gates.ts';
import { findJobs } from './jobs.ts';
import { findStaged, findWorkLeases } from './staged.ts';
import { storedArchives } from './stored-archives.ts';

export interface Examined {
  readonly findings: readonly RecoveryFinding[];
  /** The containers to create. The other parts can't be examined before they exist. */
  readonly missing: readonly ApplyStep[];
  /** Absent while containers are missing. */
  readonly inventory?: LeaseInventory;
  /** Whether views of the pipeline are stored. */
  readonly hasViews: boolean;
  /** The declared versions of a name that have documents, when no view is stored. */
  readonly versions: ReadonlyMap<string, readonly ProjectionSpec[]>;
  /** The versions among which the operator must name the current one, by name: more than one history explains them. */
  readonly asked: ReadonlyMap<string, readonly ProjectionSpec[]>;
  /** Lines of blobs that may be archived documents without their entries. */
  readonly unentered: number;
  /** Archives with damage: their history can't be read. */
  readonly damaged: readonly string[];
  /** When the oldest change that is deferred was written, milliseconds since 1970; absent: none is. */
  readonly oldestDeferred?: number | undefined;
}

/** Looks at everything that a disaster may have torn apart. Reads only (REC-S3). */
export async function examine(context: Context): Promise<Examined> {
  const loaded = await context.workspace.pipeline();
  const services = await context.workspace.services();
  const { signal } = context;
  const missing = [...(await planModel(loaded, services)), ...(await planStorage(loaded, services, signal))];
  if (missing.length > 0) {
    const findings = missing.map(({ say }) => toCreate(say));
    return { findings, missing, hasViews: false, versions: new Map(), asked: new Map(), unentered: 0, damaged: [] };
  }
  const inventory = await openLeases(context);
  const archives = await ofArchives(loaded, services, context);
  const views = await ofViews(loaded, services, signal);
  const queues = await findDeferred(loaded, services, inventory, signal);
  const findings = [
    ...(await ofSources(inventory, loaded, services, signal)),
    ...(await ofSinks(loaded, services, inventory, signal)),
    ...views.findings,
    ...findWorkLeases(inventory, loaded),
    ...(await findCheckpoints(inventory, services, signal)),
    ...(await findGates(services, signal)),
    ...archives.findings,
    ...(await ofLetters(services)),
    ...queues.findings,
    ...(await findJobs(context)),
  ];
  return { ...views, ...archives, findings, missing, inventory, oldestDeferred: queues.oldest };
}

export const toCreate = (say: string): RecoveryFinding => ({
  about: 'containers',
  what: `to do: ${say}`,
  remedy: 'recover',
});

/** The rid and the epoch that Millrace recorded of a container, and the positions of its leases. */
async function ofSources(
  { sources, groups }: LeaseInventory,
  { pipeline }: LoadedPipeline,
  { place: { state } }: Services,
  signal: AbortSignal,
): Promise<RecoveryFinding[]> {
  const findings: RecoveryFinding[] = [];
  for (const [about, { prefix, monitored }] of sources) {
    const stored = await readItem<{ rid: string; epoch: number }>(state.item(about, 'epochs'));
    const leases = groups.find((group) => group.prefix === prefix)?.leases ?? [];
    const say = (what: string): void => void findings.push({ about, what, remedy: 'recover' });
    if (!stored)
      say(`no epoch is stored${leases.length > 0 ? ', though it has leases: the state is lost or older' : ''}`);
    else if (stored.rid !== monitored.rid) say(`it was created again: its rid is ${monitored.rid}, not ${stored.rid}`);
    else if (leases.length === 0) say('its leases are lost: its epoch is stored');
    const { source } = await openSource(monitored.container);
    for (const lease of leases) {
      if (lease.position === undefined) continue;
      const end = lsnOf(await source.resolve(rangeOf(lease), 'now', signal));
      if (end < lsnOf(lease.position))
        say(`lease ${lease.token} is at ${lease.position}, and its feed ends at "${end}": changes are lost`);
    }
  }
  for (const { prefix, leases } of lostGroups({ groups }, pipeline))
    findings.push({
      about: prefix,
      what: `${plural(leases.length, 'lease')} of a container that this database no longer has; no host reads them`,
      remedy: 'unknown',
      hint: 'If no other account uses this lease container, delete these leases.',
    });
  return findings;
}

/** Versions in a sink that are newer than any that hosts would write now: its guards would reject every change. */
async function ofSinks(
  { pipeline: { projections, part } }: LoadedPipeline,
  { place: { database, state } }: Services,
  { sources }: LeaseInventory,
  signal: AbortSignal,
): Promise<RecoveryFinding[]> {
  const findings: RecoveryFinding[] = [];
  const sinks = projections.map(({ into }) => into.container);
  for (const container of new Set(part ? sinks.filter((name) => part.inShards.has(name)) : sinks)) {
    let epoch = 0;
    for (const name of sources.keys())
      epoch = Math.max(epoch, (await readItem<{ epoch: number }>(state.item(name, 'epochs')))?.epoch ?? 0);
    const newer = {
      query:
        'SELECT TOP 1 c.id FROM c WHERE c._src.epoch > @epoch OR (IS_DEFINED(c["by"]) AND c.version.epoch > @epoch)',
      parameters: [{ name: '@epoch', value: epoch }],
    };
    for await (const _ of fetchAll<unknown>(database.container(container), newer, signal, { anyFormat: true }))
      findings.push({
        about: container,
        what: `has versions of an epoch above ${epoch}, the highest that is stored: the state is lost or older`,
        remedy: 'recover',
      });
  }
  return findings;
}

async function ofViews(
  { pipeline }: LoadedPipeline,
  services: Services,
  signal: AbortSignal,
): Promise<Pick<Examined, 'hasViews' | 'versions' | 'asked'> & { findings: RecoveryFinding[] }> {
  const views = await new Views(services.global.state, pipeline.name).read();
  const databaseOf = projectionDatabase(pipeline, services);
  const findings = findStaged(views ?? {});
  const versions = new Map<string, readonly ProjectionSpec[]>();
  const asked = new Map<string, readonly ProjectionSpec[]>();
  const ask = (about: string, among: readonly ProjectionSpec[], what: string): void => {
    asked.set(about, among);
    const hint = `Name it with --current ${among.map(projectionId).join(' or ')}.`;
    findings.push({ about, what: `${what}: the current version is unknown`, remedy: 'unknown', hint });
  };
  for (const [name, specs] of Map.groupBy(pipeline.projections, (spec) => spec.name)) {
    const { current, staged, previous } = views?.[name] ?? NO_VIEW;
    const isCurrent = (spec: ProjectionSpec): boolean => spec.version === current?.version;
    if (current && !specs.some(isCurrent)) {
      const said = `the state says that version ${current.version} is current`;
      ask(name, specs, `${said}, and the pipeline does not declare it. The state may be older than a promotion`);
      continue;
    }
    if (specs.length === 1) continue;
    const filled: ProjectionSpec[] = [];
    for (const spec of specs) {
      const known = [staged, previous].some((of) => of?.version === spec.version);
      if (
        isCurrent(spec) ||
        (!known && (await hasDocuments(databaseOf(projectionId(spec)).container(spec.into.container), spec, signal)))
      )
        filled.push(spec);
    }
    if (!views && filled.length > 0) versions.set(name, filled);
    if (filled.length < 2) continue;
    const ids = filled.map(projectionId).join(' and ');
    ask(
      name,
      filled,
      current
        ? `the state knows ${projectionId({ name, ...current })} alone, and ${ids} have documents`
        : `no view is stored, and ${ids} have documents`,
    );
  }
  if (!views) findings.push({ about: 'views', what: 'no view of this pipeline is stored', remedy: 'recover' });
  return { hasViews: views !== undefined, versions, asked, findings };
}

async function hasDocuments(
  container: Container,
  { into: { type } }: ProjectionSpec,
  signal: AbortSignal,
): Promise<boolean> {
  const query = 'SELECT TOP 1 c.id FROM c WHERE c.type = @type';
  const any = { query, parameters: [{ name: '@type', value: type }] };
  for await (const _ of fetchAll<unknown>(container, any, signal, { anyFormat: true })) return true;
  return false;
}

async function ofArchives(
  loaded: LoadedPipeline,
  services: Services,
  context: Context,
): Promise<Pick<Examined, 'unentered' | 'damaged'> & { findings: RecoveryFinding[] }> {
  const findings: RecoveryFinding[] = [];
  const damaged: string[] = [];
  let unentered = 0;
  const { signal, screen } = context;
  for (const archive of await storedArchives(loaded, services, context)) {
    const about = archive.spec.name;
    const progress = (blobs: number): void => screen.progress(`${about}: blobs read`, blobs);
    const { faults } = await verifyArchive(archive, { signal, progress });
    if (faults.length > 0) {
      damaged.push(about);
      findings.push({
        about,
        what: `${plural(faults.length, 'fault')}, first: ${faults[0]?.what ?? ''}. Entries and blobs are of different times`,
        remedy: 'you',
        hint: `Restore the blobs (versions, soft delete). \`millrace archive verify ${about} --documents\` names what is lost.`,
      });
    }
    // All places share the blobs, so a shard has no entries of most of them.
    const count = loaded.pipeline.part ? 0 : await countUnentered(archive, signal);
    unentered += count;
    if (count > 0)
      findings.push({
        about,
        what: `${plural(count, 'document')} of its blobs are neither in ${archive.spec.from.container} nor archived by an entry: either the entries are lost, or the documents were restored and deleted since`,
        remedy: 'unknown',
        hint: 'Say --entries make if the state was lost or restored, and --entries leave if it was not.',
      });
  }
  return { findings, damaged, unentered };
}

async function ofLetters({ place: { state } }: Services): Promise<RecoveryFinding[]> {
  const { length } = await new DeadLetters(state).list();
  if (length === 0) return [];
  return [
    {
      about: 'dead letters',
      what: `${plural(length, 'dead letter')}, some perhaps of documents that no longer exist`,
      remedy: 'unknown',
      hint: 'After the recovery, run `millrace dead-letters redrive`: it reads each document again.',
    },
  ];
}
