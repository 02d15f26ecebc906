import type { Container } from '@azure/cosmos';
import { UsageError } from '../../base/errors.ts';
import type { FeedRange } from '../../cosmos/ranges.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { ridOf } from '../../cosmos/rid.ts';
import { feedModeOf } from '../../definition/all-versions.ts';
import { feedReaders, sourcesOf } from '../../definition/pipeline.ts';
import type { Pipeline } from '../../definition/specs.ts';
import type { LeaseContent, LeaseDocument } from '../../feed/leases/dialects/dialect.ts';
import { readDocument } from '../../feed/leases/dialects/read.ts';
import { parseTimestamp } from '../../feed/leases/dialects/timestamp.ts';
import { LeaseContainer } from '../../feed/leases/lease-container.ts';
import { leasePrefix } from '../../feed/leases/cosmos-lease-store.ts';
import type { FeedMode } from '../../feed/reading/source.ts';
import { Partitions } from '../../feed/leases/partitions.ts';
import { orContainerMissing } from '../../cosmos/container-missing.ts';
import { suggestion } from '../../base/near.ts';
import type { Context } from '../operation.ts';
import { processorName } from '../../runtime/processor-name.ts';

/** A container of the database whose feed some leases are about. */
export interface Monitored {
  readonly container: Container;
  readonly rid: string;
  readonly partitions: Partitions;
}

/** A stored lease, of whatever dialect. */
export interface StoredLease extends LeaseContent {
  readonly id: string;
  readonly etag: string;
  readonly document: LeaseDocument & { readonly _etag: string };
  /** Undefined: it isn't said, and the partition it is named after is of no container here. */
  readonly range?: FeedRange;
  /** When it was written last, by the service's clock, milliseconds. */
  readonly storedAt: number;
}

/** What one processor keeps for one container: all documents of one prefix. */
export interface LeaseGroup {
  /** What comes before `..`: processor name, account host, database and container. */
  readonly prefix: string;
  /** The processor's name, where the container is known. */
  readonly processor?: string;
  /** Absent: a container that was deleted, or of another database or account. */
  readonly monitored?: Monitored;
  /** True where the pipeline at hand reads the container by these leases. */
  readonly own: boolean;
  /** Whether `.info` is there. */
  readonly initialized: boolean;
  /** When `.lock` was written, where it is there, milliseconds. */
  readonly lockedAt?: number;
  readonly leases: readonly StoredLease[];
  /** What no dialect explains, and why; nobody may write it. */
  readonly unexplained: readonly { readonly id: string; readonly why: string }[];
}

/** A container that the pipeline reads, and the prefix of its own leases of it. */
export interface LeasedSource {
  readonly prefix: string;
  readonly monitored: Monitored;
  readonly mode: FeedMode;
}

/** The lease container with everything in it. */
export interface LeaseRoom {
  readonly leases: LeaseContainer;
  readonly groups: readonly LeaseGroup[];
  /** The pipeline's sources, whether they have leases yet or not; empty where there is no pipeline. */
  readonly sources: ReadonlyMap<string, LeasedSource>;
  /** The container that leases of a prefix are or would be about; undefined where it is not in this database. */
  readonly about: (
    prefix: string,
  ) => Promise<{ readonly processor: string; readonly monitored: Monitored } | undefined>;
  /** The prefix under which a processor of Java's `handleChanges` keeps leases of a container. */
  readonly namedPrefix: (processor: string, container: string) => string;
}

/**
 * Reads the lease container, and which of the database's containers its leases are about. The pipeline, where there is
 * one, tells which of them are its own.
 * @throws UsageError `lease-container-missing`, `lease-container-denied`, `lease-container-key`, `container-missing`
 */
export async function openLeases({ workspace, signal }: Pick<Context, 'workspace' | 'signal'>): Promise<LeaseRoom> {
  const services = await workspace.services();
  const { database } = services;
  const pipeline = await pipelineIfAny(workspace);
  const leases = await LeaseContainer.open(services.leases);
  const endpoint = workspace.settings().cosmos.endpoint;
  const rid = await ridOf(database, signal).catch((error: unknown) => {
    throw orContainerMissing(error, services.leases);
  });
  const definitions = await withRetry(() => database.containers.readAll().fetchAll(), { reads: true, signal });
  const known = definitions.resources.map((definition) => ({
    name: definition.id,
    rid: (definition as { _rid?: string })._rid ?? '',
  }));
  const namedPrefix = (processor: string, container: string): string =>
    leasePrefix(processor, endpoint, database.id, container);

  const opened = new Map<string, Promise<Monitored>>();
  const open = ({ name, rid: of }: (typeof known)[number]): Promise<Monitored> => {
    const container = database.container(name);
    const found =
      opened.get(name) ?? Partitions.read(container).then((partitions) => ({ container, rid: of, partitions }));
    opened.set(name, found);
    return found;
  };
  const read = pipeline ? sourceNames(pipeline) : [];
  const sources = new Map<string, LeasedSource>();
  for (const name of read) {
    const definition = known.find((of) => of.name === name);
    if (!pipeline || !definition) continue;
    const prefix = leasePrefix(processorName(pipeline), endpoint, rid, definition.rid);
    sources.set(name, { prefix, monitored: await open(definition), mode: feedModeOf(pipeline, name) });
  }

  const ends = known.flatMap((of) => [
    { of, end: leasePrefix('', endpoint, rid, of.rid) },
    { of, end: namedPrefix('', of.name) },
  ]);
  const about: LeaseRoom['about'] = async (prefix) => {
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
    const own = [...sources.values()].some((source) => source.prefix === prefix);
    groups.push({ prefix, own, ...found, ...contentOf(of, found?.monitored.partitions) });
  }
  const byPrefix = (a: LeaseGroup, b: LeaseGroup): number => a.prefix.localeCompare(b.prefix, 'en', { numeric: true });
  return { leases, sources, about, namedPrefix, groups: groups.toSorted(byPrefix) };
}

/** An operation on leases needs no pipeline, but a pipeline that is there has to be right. */
async function pipelineIfAny(workspace: Context['workspace']): Promise<Pipeline | undefined> {
  try {
    return (await workspace.pipeline()).pipeline;
  } catch (error) {
    if (error instanceof UsageError && error.code === 'pipeline-missing') return undefined;
    throw error;
  }
}

const sourceNames = (pipeline: Pipeline): string[] => [
  ...new Set(
    feedReaders(pipeline)
      .flatMap(sourcesOf)
      .map(({ container }) => container),
  ),
];

/** A lease's prefix ends before the last `..`; a marker's or lock's before its suffix. */
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

/**
 * The group of a prefix, or those of the pipeline at hand.
 * @throws UsageError `prefix-unknown`, `leases-none`
 */
export function chooseGroups(room: LeaseRoom, prefix?: string, container?: string): LeaseGroup[] {
  const withLeases = room.groups.filter(({ leases }) => leases.length > 0);
  const known = withLeases.map((group) => group.prefix);
  if (prefix !== undefined) {
    const found = withLeases.find((group) => group.prefix === prefix);
    if (found) return [found];
    throw new UsageError('prefix-unknown', `There are no leases of the prefix ${prefix}${suggestion(prefix, known)}`, {
      mend:
        known.length === 0
          ? 'The lease container is empty.'
          : `There are: ${known.join(', ')}. A prefix counts whole, up to the two dots.`,
    });
  }
  const own = withLeases.filter(
    (group) => group.own && (container === undefined || group.monitored?.container.id === container),
  );
  if (own.length > 0) return own;
  if (container !== undefined && !room.sources.has(container)) {
    const sources = [...room.sources.keys()];
    throw new UsageError(
      'source-unknown',
      `The pipeline reads no container ${container}${suggestion(container, sources)}`,
      {
        mend: `It reads: ${sources.join(', ')}.`,
      },
    );
  }
  throw new UsageError('leases-none', 'The pipeline has no leases yet', {
    mend:
      known.length === 0
        ? 'Start it by `millrace run` first.'
        : `Name another processor's by its prefix: ${known.join(', ')}.`,
  });
}

/**
 * The container that a group's leases are about.
 * @throws UsageError `monitored-unknown`
 */
export function monitoredOf({ prefix, monitored }: LeaseGroup): Monitored {
  if (monitored) return monitored;
  throw new UsageError('monitored-unknown', `The leases ${prefix} are about a container that is not in this database`, {
    mend: 'Set COSMOS and COSMOS_DATABASE to the account and database of that container; if it was deleted, so can its leases be.',
  });
}
