// Everything that Millrace and the application store of one tenant.
import type { BlobStore } from '../../access/blob-store.ts';
import { Identities } from '../../archive/read/identities.ts';
import { type Clock, systemClock } from '../../base/clock.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { Meter } from '../../cosmos/budget/charge-meter.ts';
import { storedKey, splitPath } from '../../cosmos/paths.ts';
import { withoutSystemFields } from '../../cosmos/system-fields.ts';
import { isOfType, typeRules } from '../../pipeline/discriminator.ts';
import { type Doc, projectionId } from '../../pipeline/specs.ts';
import { isOfTenants } from '../../pipeline/tenant.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { LetterBodyDamaged, letterBodies } from '../../engine/dead-letters/letter-bodies.ts';
import { letterId, letterPartition } from '../../engine/dead-letters/letter-document.ts';
import { isOwn } from '../../cosmos/own-documents.ts';
import { untilStopped } from '../../feed/tenure/fences.ts';
import type { Container } from '../../model/model.ts';
import { READ_LAG_MS } from '../../runtime/open-engine.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { CosmosAccess } from '../../access/cosmos-access.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';
import { storedDocuments } from '../tenants/documents.ts';
import type { ErasePlace } from '../erase/erase-options.ts';
import { archivedOf } from './export-cold.ts';
import type { ExportedDocument, ExportedLetter } from './export-lines.ts';

export interface ExportOptions {
  /** The whole pipeline. */
  readonly loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>;
  readonly places: readonly ExportPlace[];
  readonly asked: AskedTenant;
  /** Undefined: the pipeline has no archive. */
  readonly store: BlobStore | undefined;
  readonly signal: AbortSignal;
  readonly readLagMs?: number;
  readonly clock?: Clock;
  readonly progress?: (documents: number) => void;
}

export type ExportPlace = Pick<ErasePlace, 'shard' | 'services' | 'containers'>;

/** In one place. */
type PlaceOptions = ExportOptions & ExportPlace;

const PROGRESS_EVERY = 1_000;

/** The documents of a tenant, hot and cold, then its dead letters. Millrace's own records in the containers are left out. */
export async function* exported(options: ExportOptions): AsyncGenerator<ExportedDocument | ExportedLetter> {
  const { asked, progress } = options;
  const places = options.places.map((at): PlaceOptions => ({ ...options, ...at }));
  let count = 0;
  for (const at of places)
    for (const container of at.containers) {
      if (!isOfTenants(container, asked.rule.field)) continue;
      for await (const document of documentsOf(container, at)) {
        yield document;
        count += 1;
        if (count % PROGRESS_EVERY === 0) progress?.(count);
      }
    }
  for (const at of places) yield* lettersOf(at);
}

async function* documentsOf(container: Container, options: PlaceOptions): AsyncGenerator<ExportedDocument> {
  const { loaded, services, asked, store, signal, readLagMs = READ_LAG_MS, clock = systemClock } = options;
  const { name } = container;
  const archives = loaded.pipeline.archives.some(({ from }) => from.container === name);
  const paths = container.partitionKey.map(splitPath);
  const seen = new Identities();
  for await (const document of hotOf(container, options)) {
    if (archives) seen.add({ key: storedKey(document, paths), id: String(document['id']) });
    yield line(container, document, false, options);
  }
  if (!archives || !store) return;
  const access = new CosmosAccess(services.place.database, untilStopped(signal), new Meter());
  const stateContainer = services.place.state.id;
  const shared = loaded.pipeline.shards !== undefined;
  const cold = archivedOf({
    container: name,
    shared,
    asked,
    seen,
    store,
    stateContainer,
    access,
    readLagMs,
    clock,
    signal,
  });
  for await (const { document, cold: isCold } of cold) yield line(container, document, isCold, options);
}

async function* hotOf(container: Container, { services, asked, signal }: PlaceOptions): AsyncGenerator<Doc> {
  const stored = services.place.database.container(container.name);
  for await (const document of storedDocuments<Doc>(stored, container, asked, { signal }))
    // Millrace's own repeat what documents have, or have nothing of the tenant's.
    if (!isOwn(document)) yield document;
}

function line(
  { name, types }: Container,
  stored: Doc,
  cold: boolean,
  { loaded, shard }: PlaceOptions,
): ExportedDocument {
  const { sources, projections } = loaded.pipeline;
  const type = types.find((of) => isOfType(of.name, typeRules(sources, { container: name, type: of.name }), stored));
  const derivedBy = projections
    .filter(({ into }) => into.container === name && into.type === type?.name)
    .map(projectionId);
  return {
    ...(shard !== undefined && { shard }),
    container: name,
    type: type?.name ?? null,
    ...(cold && { cold }),
    ...(derivedBy.length > 0 && { derivedBy }),
    document: withoutSystemFields(stored),
  };
}

async function* lettersOf(options: PlaceOptions): AsyncGenerator<ExportedLetter> {
  const { services, shard, asked, signal } = options;
  const where = shard === undefined ? {} : { shard };
  const letters = new DeadLetters(services.place.state, letterBodies(services));
  const apart = await storedApart(options);
  for (const deadLetter of await letters.list()) {
    if (deadLetter.tenant !== asked.tenant) continue;
    signal.throwIfAborted();
    try {
      const change = await letters.kept(deadLetter);
      const lost = !change && apart.has(placeOf(letterPartition(deadLetter.projection), letterId(deadLetter)));
      yield {
        ...where,
        deadLetter,
        ...(change && { change }),
        ...(lost && { unreadable: 'The stored change is missing' }),
      };
    } catch (error) {
      if (!(error instanceof LetterBodyDamaged)) throw error;
      yield { ...where, deadLetter, unreadable: error.message };
    }
  }
}

/** The letters whose change is stored apart from them, where it may be missing. */
async function storedApart({ services: { place }, signal }: PlaceOptions): Promise<Set<string>> {
  const query = "SELECT c.pk, c.id FROM c WHERE c.kind = 'dead-letter' AND (IS_DEFINED(c.parts) OR IS_DEFINED(c.blob))";
  const apart = new Set<string>();
  for await (const { pk, id } of fetchAll<{ pk: string; id: string }>(place.state, query, signal))
    apart.add(placeOf(pk, id));
  return apart;
}

const placeOf = (pk: string, id: string): string => `${pk}/${id}`;
