import { setTimeout as delay } from 'node:timers/promises';
import { emit } from '../../base/telemetry/diagnostics.ts';
import type { PartFailure } from './part-failure.ts';
import { type PlaceHost, type PlaceHostOptions, openPlaceHost } from './place-host.ts';
import { type PipelinePlace, placesOf } from '../places.ts';

export interface PlaceHostsOptions extends PlaceHostOptions {
  /** How often the shard map is read, milliseconds. Default 30,000. */
  readonly shardsRefreshMs?: number;
}

/** A shard of the map. */
interface Kept {
  readonly ending: AbortController;
  /** Absent: it isn't open yet. */
  host?: PlaceHost;
  running: boolean;
  /** Why it couldn't be opened, until it runs. */
  failure?: { readonly shard: string; readonly error: unknown };
}

const REFRESH_MS = 30_000;
const POLL_MS = 50;

/**
 * The hosts of a pipeline: one for the place of the settings, and over shards one for each shard of the map. Each shard is
 * opened by itself, so one that doesn't answer stops no other; it is tried again.
 */
export class PlaceHosts {
  /** In the place of the settings. */
  readonly home: PlaceHost;
  readonly #options: PlaceHostsOptions;
  readonly #opened: (host: PlaceHost) => void;
  /** By their keys. */
  readonly #shards = new Map<string, Kept>();
  readonly #ending = new AbortController();
  #following: Promise<void> = Promise.resolve();
  /** Why the map could not be read. */
  #failure: unknown;

  private constructor(options: PlaceHostsOptions, home: PlaceHost, opened: (host: PlaceHost) => void) {
    this.#options = options;
    this.home = home;
    this.#opened = opened;
  }

  /** `opened`: called with each host before it starts. Opens the map and the place of the settings, and no shard yet. */
  static async open(options: PlaceHostsOptions, opened: (host: PlaceHost) => void): Promise<PlaceHosts> {
    const [place] = await placesOf(options).list();
    const home = await openPlaceHost({ ...options, ...(await place!.open()) });
    opened(home);
    return new PlaceHosts(options, home, opened);
  }

  /** All that are open now. */
  all(): readonly PlaceHost[] {
    return [this.home, ...[...this.#shards.values()].flatMap(({ host, running }) => (host && running ? [host] : []))];
  }

  /** Of shards that can't be opened, and of the list of shards. */
  failures(): readonly PartFailure[] {
    const kept = [...this.#shards.values()].flatMap(({ failure }) => failure ?? []);
    const map = this.#failure === undefined ? [] : [{ error: this.#failure }];
    return [...kept, ...map].map((of) => ({ part: 'shards', ...of }));
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

  /** Resolves once every place is open. */
  async complete(signal: AbortSignal): Promise<void> {
    await this.#look();
    while (this.#shards.values().some(({ running }) => !running)) await delay(POLL_MS, undefined, { signal });
  }

  async #follow(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await delay(this.#refreshMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#look();
        this.#failure = undefined;
      } catch (error) {
        this.#failure = error;
        emit('shard:failed', { map: this.#map, error });
      }
    }
  }

  /** Opens the shards that are new in the map, and stops reading those that it no longer has. */
  async #look(): Promise<void> {
    const [, ...shards] = await placesOf(this.#options).list();
    const wanted = new Set(shards.map(({ key }) => key));
    await Promise.all([...this.#shards.keys()].filter((key) => !wanted.has(key)).map((key) => this.#drop(key)));
    for (const shard of shards) {
      if (this.#shards.has(shard.key) || this.#ending.signal.aborted) continue;
      const kept: Kept = { ending: new AbortController(), running: false };
      this.#shards.set(shard.key, kept);
      void this.#keep(shard, kept);
    }
  }

  async #drop(key: string): Promise<void> {
    const kept = this.#shards.get(key);
    this.#shards.delete(key);
    if (kept) await end(kept);
  }

  /** Tries to run a shard's host until it runs. Never rejects. */
  async #keep({ shard = '', open }: PipelinePlace, kept: Kept): Promise<void> {
    const { signal } = kept.ending;
    while (!signal.aborted) {
      try {
        const host = await openPlaceHost({ ...this.#options, ...(await open()), shared: this.home.shared });
        if (signal.aborted) return;
        this.#opened(host);
        kept.host = host;
        await host.start();
        // Dropped meanwhile: what began after its stop is stopped too.
        if (signal.aborted) return await host.stop();
        kept.running = true;
        delete kept.failure;
        return;
      } catch (error) {
        if (signal.aborted) return;
        kept.failure = { shard, error };
        emit('shard:failed', { map: this.#map, shard, error });
        const failed = kept.host;
        delete kept.host;
        await failed?.stop().catch(() => undefined);
        await delay(this.#refreshMs, undefined, { signal }).catch(() => undefined);
      }
    }
  }

  get #map(): string {
    return this.#options.loaded.pipeline.shards?.map ?? '';
  }

  get #refreshMs(): number {
    return this.#options.shardsRefreshMs ?? REFRESH_MS;
  }
}

const end = async ({ ending, host }: Kept): Promise<void> => {
  ending.abort();
  await host?.stop();
};
