import { setTimeout as delay } from 'node:timers/promises';
import { emit } from '../../base/diagnostics.ts';
import { type PlaceKind, partOf } from '../../pipeline/places.ts';
import type { ShardMap } from '../../shards/index.ts';
import { type Hosts, type PlaceHost, type PlaceHostOptions, openPlaceHost } from './place-host.ts';
import { type ShardPlace, openShardMap, placeKey, shardPlaces } from '../shard-map.ts';

export interface ShardHostsOptions extends PlaceHostOptions {
  /** How often the shard map is read, milliseconds. Default 30,000. */
  readonly shardsRefreshMs?: number;
}

/** A shard of the map. */
interface Kept {
  readonly ending: AbortController;
  /** Absent: it isn't open yet. */
  host?: PlaceHost;
  running: boolean;
}

const REFRESH_MS = 30_000;
const POLL_MS = 50;

/**
 * The hosts of a pipeline over shards: one for the global place, and one for each shard of the map. Each shard is opened by
 * itself, so one that doesn't answer stops no other; it is tried again.
 */
export class ShardHosts implements Hosts {
  readonly home: PlaceHost;
  readonly #options: ShardHostsOptions;
  readonly #map: ShardMap;
  readonly #opened: (host: PlaceHost) => void;
  /** By the shard and its location: a shard that was attached elsewhere is another place. */
  readonly #shards = new Map<string, Kept>();
  readonly #ending = new AbortController();
  #following: Promise<void> = Promise.resolve();

  private constructor(options: ShardHostsOptions, map: ShardMap, home: PlaceHost, opened: (host: PlaceHost) => void) {
    this.#options = options;
    this.#map = map;
    this.home = home;
    this.#opened = opened;
  }

  /** `opened`: called with each host before it starts. Opens the map and the global place, and no shard yet. */
  static async open(options: ShardHostsOptions, opened: (host: PlaceHost) => void): Promise<ShardHosts> {
    const map = await openShardMap(options);
    const home = await openPlaceHost({ ...options, loaded: partFor(options, 'global') });
    opened(home);
    return new ShardHosts(options, map, home, opened);
  }

  all(): readonly PlaceHost[] {
    return [this.home, ...[...this.#shards.values()].flatMap(({ host, running }) => (host && running ? [host] : []))];
  }

  async start(): Promise<void> {
    await this.home.start();
    await this.#look();
    this.#following = this.#follow();
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#following;
    // They stay in `all`, whose figures are read once more at the end.
    await Promise.all([this.home.stop(), ...[...this.#shards.values()].map(end)]);
  }

  async complete(signal: AbortSignal): Promise<void> {
    await this.#look();
    while (this.#shards.values().some(({ running }) => !running)) await delay(POLL_MS, undefined, { signal });
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await delay(this.#refreshMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#look().catch((error: unknown) => emit('shard:failed', { map: this.#map.name, error }));
    }
  }

  /** Opens the shards that are new in the map, and stops reading those that it no longer has. */
  async #look(): Promise<void> {
    const places = await shardPlaces(this.#map, this.#options.settings);
    const wanted = new Map(places.map((place) => [placeKey(place), place]));
    await Promise.all([...this.#shards.keys()].filter((key) => !wanted.has(key)).map((key) => this.#drop(key)));
    for (const [key, place] of wanted) {
      if (this.#shards.has(key) || this.#ending.signal.aborted) continue;
      const kept: Kept = { ending: new AbortController(), running: false };
      this.#shards.set(key, kept);
      void this.#keep(place, kept);
    }
  }

  async #drop(key: string): Promise<void> {
    const kept = this.#shards.get(key);
    this.#shards.delete(key);
    if (kept) await end(kept);
  }

  /** Tries to run a shard's host until it runs. Never rejects. */
  async #keep(place: ShardPlace, kept: Kept): Promise<void> {
    const { signal } = kept.ending;
    while (!signal.aborted) {
      try {
        const host = await this.#open(place);
        if (signal.aborted) return;
        this.#opened(host);
        kept.host = host;
        await host.start();
        // Dropped meanwhile: what began after its stop is stopped too.
        if (signal.aborted) return await host.stop();
        kept.running = true;
        return;
      } catch (error) {
        if (signal.aborted) return;
        emit('shard:failed', { map: this.#map.name, shard: place.name, error });
        const failed = kept.host;
        delete kept.host;
        await failed?.stop().catch(() => undefined);
        await delay(this.#refreshMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  async #open({ location, name }: ShardPlace): Promise<PlaceHost> {
    const services = await this.#options.services.at(location);
    const loaded = partFor(this.#options, 'shard');
    return openPlaceHost({ ...this.#options, services, loaded, shard: name, shared: this.home.shared });
  }

  get #refreshMs(): number {
    return this.#options.shardsRefreshMs ?? REFRESH_MS;
  }
}

const end = async ({ ending, host }: Kept): Promise<void> => {
  ending.abort();
  await host?.stop();
};

const partFor = ({ loaded }: ShardHostsOptions, place: PlaceKind): ShardHostsOptions['loaded'] => ({
  ...loaded,
  pipeline: partOf(loaded.pipeline, loaded.model, place),
});
