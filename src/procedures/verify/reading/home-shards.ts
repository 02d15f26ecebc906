// Of a document that several shards have, because its key moves, the one that counts.
import type { Database } from '@azure/cosmos';
import type { Settings } from '../../../base/settings.ts';
import { splitPath, valueAtPath } from '../../../cosmos/paths.ts';
import { rowKey } from '../../../pipeline/oracle/recompute.ts';
import type { Doc } from '../../../pipeline/specs.ts';
import { isCopied } from '../../../kinds/moved.ts';
import { isShardAt, openShardMap, shardPlaces } from '../../../runtime/places.ts';
import type { LoadedPipeline, Services } from '../../../runtime/workspace.ts';
import { homesIn } from '../../shards/mapped.ts';

/** Whether the map gives the key of a document to the shard of a database. Undefined: nothing says so. */
export type IsHome = (container: string, doc: Doc, database: Database) => boolean | undefined;

/**
 * By the map as it is now; undefined where nothing says it. `settings` undefined: nothing moves meanwhile.
 * @throws as `openShardMap`
 */
export async function homeShards(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  settings: Settings | undefined,
): Promise<IsHome | undefined> {
  if (!settings || pipeline.part?.place !== 'global' || !services.shards) return undefined;
  const map = await openShardMap({ settings, services, loaded: { pipeline, model } });
  const [homeOf, places, shards] = await Promise.all([homesIn(map), shardPlaces(map, settings), services.shards()]);
  const shardOf = new Map(
    shards.map(({ place }) => [place.database, places.find((one) => isShardAt(one, settings, place))?.shard.id]),
  );
  return (container, doc, database) => {
    const path = map.schema.sharded[container];
    const home = path === undefined ? undefined : homeOf(valueAtPath(doc, splitPath(path)));
    return home && home.shard === shardOf.get(database);
  };
}

/**
 * The documents of one look, of which each counts once. The sinks of all shards have the version of the shard that the map
 * names: it was written in a higher epoch. The time of a document doesn't say which that is: it counts whole seconds, and a
 * move takes less.
 */
export class HomeDocuments {
  readonly #isHome: IsHome | undefined;
  readonly #readIn = new WeakMap<Doc, readonly [container: string, database: Database]>();

  /** Without `isHome` nothing says where a key belongs. */
  constructor(isHome?: IsHome) {
    this.#isHome = isHome;
  }

  /** A document was read there. Where its key belongs is asked only of one that two shards have. */
  note(container: string, doc: Doc, database: Database): void {
    if (this.#isHome) this.#readIn.set(doc, [container, database]);
  }

  #isAtHome(doc: Doc): boolean | undefined {
    const [container, database] = this.#readIn.get(doc) ?? [];
    return container === undefined || !database ? undefined : this.#isHome?.(container, doc, database);
  }

  /**
   * Of two documents with one identity, whether `other` counts and `known` doesn't. Where the map doesn't say it: an
   * unchanged copy of a move is never newer than what someone wrote; else the later one counts.
   */
  countsRather(other: Doc, known: Doc): boolean {
    const [isHome, wasHome] = [this.#isAtHome(other), this.#isAtHome(known)];
    if (isHome !== undefined && wasHome !== undefined && isHome !== wasHome) return isHome;
    const [isCopy, wasCopy] = [isCopied(other), isCopied(known)];
    return isCopy === wasCopy ? Number(known['_ts']) <= Number(other['_ts']) : wasCopy;
  }

  /** Each document once. While a key moves, two shards have its documents. */
  eachOnce(docs: readonly Doc[], keyPaths: readonly string[]): Doc[] {
    const latest = new Map<string, Doc>();
    for (const doc of docs) {
      const key = rowKey(doc, keyPaths);
      const known = latest.get(key);
      if (!known || this.countsRather(doc, known)) latest.set(key, doc);
    }
    return latest.size === docs.length ? [...docs] : [...latest.values()];
  }
}
