// One projection, recomputed from its sources alone.
import { messageOf } from '../../base/errors.ts';
import { once } from '../../base/once.ts';
import { thrownAt } from '../../base/user-code.ts';
import { keyPathsOf } from '../../model/model.ts';
import { type RecomputeOptions, recompute } from '../../pipeline/oracle/recompute.ts';
import { sourcesOf } from '../../pipeline/pipeline.ts';
import type { Doc, ProjectionSpec } from '../../pipeline/specs.ts';
import { openPipelineHistory } from '../../runtime/archives.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { databasesOf } from '../projections/over-shards.ts';
import { HomeDocuments, homeShards } from './reading/home-shards.ts';
import { type ByType, nameOf } from './look.ts';
import { parkedIdentityOf } from './parked.ts';
import type { SettleOptions } from './until-stable.ts';
import type { RefusedDocument } from './verify.ts';
import { readTypes } from './reading/whole-reading.ts';

/** Refused documents that are named. */
const NAMED = 1_000;

interface Recomputed {
  readonly rows: ReadonlyMap<string, Doc>;
  /** What the projection reads, by `Container/type`. */
  readonly documents: ByType;
  readonly refused: { readonly count: number; readonly first: readonly RefusedDocument[] };
}

/** Reads all that a projection reads, and recomputes its rows, by `rowKey`. */
export async function recomputed(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  spec: ProjectionSpec,
  { derived, ...options }: SettleOptions & Pick<RecomputeOptions, 'derived'>,
): Promise<Recomputed> {
  const { pipeline, model } = loaded;
  const { signal, screen, readLagMs, settings } = options;
  const documents = await readTypes(sourcesOf(spec), {
    ...loaded,
    databases: await databasesOf(pipeline, services),
    homes: new HomeDocuments(await homeShards(loaded, services, settings)),
    history: once(() => openPipelineHistory(loaded, services, { signal, readLagMs })),
    signal,
    screen,
  });
  const refused = new Map<Doc, unknown>();
  const rows = recompute(spec, (of) => documents.get(nameOf(of)) ?? [], pipeline.sources, {
    keyPaths: keyPathsOf(model, spec.into.container),
    refused: (doc, cause) => refused.set(doc, cause),
    ...(derived && { derived }),
  });
  return { rows, documents, refused: { count: refused.size, first: refusedOf(refused, documents, model) } };
}

/** The documents among those read that a function refuses. */
function refusedOf(
  refused: ReadonlyMap<Doc, unknown>,
  documents: ByType,
  model: LoadedPipeline['model'],
): RefusedDocument[] {
  const named: RefusedDocument[] = [];
  for (const [of, docs] of documents) {
    const [container = ''] = of.split('/');
    for (const doc of docs) {
      const who = refused.has(doc) && parkedIdentityOf(container, keyPathsOf(model, container), doc);
      const why = refused.get(doc);
      if (who && named.length < NAMED) named.push({ ...who, message: `${messageOf(why)}${thrownAt(why)}` });
    }
  }
  return named;
}
