import type { Container } from '@azure/cosmos';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { feedModeOf } from '../../pipeline/all-versions.ts';
import { feedContainers } from '../../runtime/lease-positions.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import type { LeaseContent, LeaseDocument } from '../../feed/leases/dialects/dialect.ts';
import { readDocument } from '../../feed/leases/dialects/read.ts';
import { parseTimestamp } from '../../feed/leases/dialects/timestamp.ts';
import { LeaseContainer } from '../../feed/leases/lease-container.ts';
import { leasePrefix } from '../../feed/leases/cosmos-lease-store.ts';
import type { FeedMode } from '../../feed/reading/source.ts';
import { Partitions } from '../../feed/leases/partitions.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { suggestion } from '../../base/near.ts';
import type { Context } from '../context.ts';
import { leaseNameOf, processorName } from '../../runtime/hosts/processor-name.ts';
import { operationsError, NAME_MONITORED_ACCOUNT } from '../errors.ts';
import { pipelineIfAny } from '../pipeline-if-any.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** A container of the database whose feed some leases belong to. */
export interface Monitored {
  readonly container: Container;
  readonly rid: string;
  readonly partitions: Partitions;
}

/** A stored lease, of any dialect. */
export interface StoredLease extends LeaseContent {
  readonly id: string;
  readonly etag: string;
  readonly document: LeaseDocument & { readonly _etag: string };
  /** Undefined: the lease states no range, and no container of the database has the partition that it names. */
  readonly range?: FeedRange;
  /** The time of the last write by the service's clock, milliseconds. */
  readonly storedAt: number;
}

/** The leases of one processor for one container: all documents of one prefix. */
export interface LeaseGroup {
  /** The part of the ids before `..`: processor name, account host, database and container. */
  readonly prefix: string;
  /** The processor's name, if the container is known. */
  readonly processor?: string;
  /** Absent: the container was deleted, or is in another database or account. */
  readonly monitored?: Monitored;
  /** True if the loaded pipeline reads the container with these leases. */
  readonly own: boolean;
  /** Whether the marker `.info` exists. */
  readonly initialized: boolean;
  /** The time when `.lock` was written, milliseconds; absent if there is none. */
  readonly lockedAt?: number;
  readonly leases: readonly StoredLease[];
  /** Documents that are in no known dialect, and why; no operation may write them. */
  readonly unexplained: readonly { readonly id: string; readonly why: string }[];
}

/** A container that the pipeline reads, and the prefix of the pipeline's leases for it. */
export interface LeasedSource {
  readonly prefix: string;
  readonly monitored: Monitored;
  readonly mode: FeedMode;
}

/** The lease container with all its leases. */
export interface LeaseInventory {
  readonly leases: LeaseContainer;
  readonly hasPipeline: boolean;
  readonly groups: readonly LeaseGroup[];
  /** The pipeline's sources, with or without leases; empty if there is no pipeline. */
  readonly sources: ReadonlyMap<string, LeasedSource>;
  /** The container that leases of a prefix belong to, or would; undefined if it is not in this database. */
  readonly about: (
    prefix: string,
  ) => Promise<{ readonly processor: string; readonly monitored: Monitored } | undefined>;
  /** The prefix under which a processor of Java's `handleChanges` keeps leases of a container: of names. */
  readonly namedPrefix: (processor: string, container: string) => string;
  /** The prefix under which every other processor keeps them: of rids. */
  readonly ridPrefix: (processor: string, containerRid: string) => string;
}

/**
 * Reads the lease container, and finds the containers of the database that its leases belong to. If there is a pipeline,
 * its own leases are marked.
 * @throws UsageError `lease-container-missing`, `lease-container-denied`, `lease-container-key`, `container-missing`
 */
export async function openLeases({
  workspace,
  signal,
}: Pick<Context, 'workspace' | 'signal'>): Promise<LeaseInventory> {
  const services = await workspace.services();
  const { endpoint, database } = services.place;
  const pipeline = (await pipelineIfAny(workspace))?.pipeline;
  const leases = await LeaseContainer.open(services.global.leases);
  const settings = workspace.settings();
  const rid = await ridOf(database, signal).catch(throwMissing(services.global.leases));
  const definitions = await withRetry(() => database.containers.readAll().fetchAll(), { reads: true, signal });
  const known = definitions.resources.map((definition) => ({
    name: definition.id,
    rid: (definition as { _rid?: string })._rid ?? '',
  }));
  const namedPrefix = (processor: string, container: string): string =>
    leasePrefix(processor, endpoint, database.id, container);
  const ridPrefix = (processor: string, containerRid: string): string =>
    leasePrefix(processor, endpoint, rid, containerRid);

  const opened = new Map<string, Promise<Monitored>>();
  const open = ({ name, rid: of }: (typeof known)[number]): Promise<Monitored> => {
    const container = database.container(name);
    const found =
      opened.get(name) ?? Partitions.read(container).then((partitions) => ({ container, rid: of, partitions }));
    opened.set(name, found);
    return found;
  };
  const read = pipeline ? feedContainers(pipeline) : [];
  const sources = new Map<string, LeasedSource>();
  for (const name of read) {
    const definition = known.find((of) => of.name === name);
    if (!pipeline || !definition) continue;
    const prefix = leasePrefix(leaseNameOf(pipeline, name, settings), endpoint, rid, definition.rid);
    sources.set(name, { prefix, monitored: await open(definition), mode: feedModeOf(pipeline, name) });
  }

  const ends = known.flatMap((of) => [
    { of, end: ridPrefix('', of.rid) },
    { of, end: namedPrefix('', of.name) },
  ]);
  const about: LeaseInventory['about'] = async (prefix) => {
    const [longest] = ends.filter(({ end }) => prefix.endsWith(end)).toSorted((a, b) => b.end.length - a.end.length);
    if (!longest) return undefined;
    return { processor: prefix.slice(0, prefix.length - longest.end.length), monitored: await open(longest.of) };
  };

  const documents = new Map<string, Record<string, unknown>[]>();
  for (const raw of await leases.query('')) {
    const prefix = prefixOf(String(raw['id']));
    documents.set(prefix, [...(documents.get(prefix) ?? []), raw]);
  }
  const groups: LeaseGroup[] = [];
  for (const [prefix, of] of documents) {
    const found = await about(prefix);
    // Leases of a database that isn't this one are those of another shard, which nothing here may call orphaned.
    if (pipeline?.part && !found) continue;
    const own = [...sources.values()].some((source) => source.prefix === prefix);
    groups.push({ prefix, own, ...found, ...contentOf(of, found?.monitored.partitions) });
  }
  const byPrefix = (a: LeaseGroup, b: LeaseGroup): number => a.prefix.localeCompare(b.prefix, 'en', { numeric: true });
  const hasPipeline = pipeline !== undefined;
  return { leases, hasPipeline, sources, about, namedPrefix, ridPrefix, groups: groups.toSorted(byPrefix) };
}

/** A lease's prefix ends before the last `..`; that of a marker or lock before its suffix. */
function prefixOf(id: string): string {
  const at = id.lastIndexOf('..');
  return at === -1 ? id.replace(/\.(info|lock)$/, '') : id.slice(0, at);
}

function contentOf(
  documents: readonly Record<string, unknown>[],
  partitions: Partitions | undefined,
): Pick<LeaseGroup, 'initialized' | 'lockedAt' | 'leases' | 'unexplained'> {
  const leases: StoredLease[] = [];
  const unexplained: { id: string; why: string }[] = [];
  let initialized = false;
  let lockedAt: number | undefined;
  for (const raw of documents) {
    const reading = readDocument(raw);
    const id = String(raw['id']);
    if (reading.kind === 'marker') initialized = true;
    if (reading.kind === 'lock') lockedAt = parseTimestamp(raw['_ts']) ?? 0;
    if (reading.kind === 'unknown') unexplained.push({ id, why: reading.why });
    if (reading.kind !== 'lease') continue;
    const { kind: _kind, ...content } = reading;
    const range = content.range ?? partitions?.rangeOf(content.token);
    leases.push({
      ...content,
      id,
      etag: String(raw['_etag']),
      document: raw as StoredLease['document'],
      ...(range && { range }),
      storedAt: parseTimestamp(raw['_ts']) ?? 0,
    });
  }
  const byToken = (a: StoredLease, b: StoredLease): number => a.token.localeCompare(b.token, 'en', { numeric: true });
  return {
    initialized,
    ...(lockedAt === undefined ? {} : { lockedAt }),
    unexplained,
    leases: leases.toSorted(byToken),
  };
}

const EMPTY = 'Set LEASES_CONTAINER to the container that holds the leases: this one is empty.';

/** The pipeline's leases of containers that its database no longer has. Those of other shards are of other databases. */
export const lostGroups = ({ groups }: Pick<LeaseInventory, 'groups'>, pipeline: Pipeline): LeaseGroup[] =>
  groups.filter(
    ({ prefix, monitored, leases }) =>
      !pipeline.part && !monitored && prefix.startsWith(processorName(pipeline)) && leases.length > 0,
  );

/** The groups of the loaded pipeline; none before a host has made its leases. */
export const ownGroups = (inventory: LeaseInventory): LeaseGroup[] =>
  inventory.groups.some(({ own }) => own) ? chooseGroups(inventory) : [];

/**
 * The group of a prefix, or the groups of the loaded pipeline.
 * @throws UsageError `leases-none`
 */
export function chooseGroups(inventory: LeaseInventory, prefix?: string, container?: string): LeaseGroup[] {
  const withLeases = inventory.groups.filter(({ leases }) => leases.length > 0);
  const known = withLeases.map((group) => group.prefix);
  if (prefix !== undefined) {
    const found = withLeases.find((group) => group.prefix === prefix);
    if (found) return [found];
    throw operationsError('leases-none', `There are no leases with the prefix ${prefix}${suggestion(prefix, known)}`, {
      hint: inventory.sources.has(prefix)
        ? `${prefix} is a container that the pipeline reads, and no prefix. Leave out the prefix.`
        : known.length === 0
          ? EMPTY
          : `Give the whole prefix, up to the two dots, of one of these: ${known.join(', ')}.`,
    });
  }
  const own = withLeases.filter(
    (group) => group.own && (container === undefined || group.monitored?.container.id === container),
  );
  if (own.length > 0) return own;
  if (!inventory.hasPipeline) {
    throw operationsError(
      'leases-none',
      'There is no pipeline in this folder, so the command does not know which leases to use',
      {
        hint: known.length === 0 ? EMPTY : `Name the leases by their prefix: ${known.join(', ')}.`,
      },
    );
  }
  if (container !== undefined && !inventory.sources.has(container)) {
    const sources = [...inventory.sources.keys()];
    throw sharedError('not-found', `The pipeline reads no container ${container}${suggestion(container, sources)}`, {
      hint: `The pipeline reads: ${sources.join(', ')}.`,
    });
  }
  throw operationsError('leases-none', 'The pipeline has no leases yet', {
    hint:
      known.length === 0
        ? 'Start it with `millrace run` first.'
        : `Name another processor's leases by their prefix: ${known.join(', ')}.`,
  });
}

/**
 * The container that a group's leases belong to.
 * @throws UsageError `not-found`
 */
export function monitoredOf({ prefix, monitored }: LeaseGroup): Monitored {
  if (monitored) return monitored;
  throw sharedError('not-found', `The leases ${prefix} belong to a container that is not in this database`, {
    hint: NAME_MONITORED_ACCOUNT,
  });
}
