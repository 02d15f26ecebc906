// The hosts of one version of a projection, in each place that runs it.
import { mapSettled } from '../../base/map-settled.ts';
import type { Parts } from '../open-feed.ts';
import { type PipelinePlace, inPlaces, placesOf } from '../places.ts';
import { StagedHost, type StagedOptions, type StagedProgress } from './staged-host.ts';

export interface StagedHostsOptions extends StagedOptions {
  /** Where to start in one place; instead of `startOf`. */
  readonly startsIn?: (place: Parts) => Promise<StagedOptions['startOf']>;
  /** The keys of the shards that matter. Absent: all. */
  readonly shards?: ReadonlySet<string> | undefined;
}

/**
 * Applies the feeds of all places to one version of a projection: those of each shard of the map, or of the place of the
 * settings. What is done with a shard that is added meanwhile, `follow` decides.
 */
export class StagedHosts implements AsyncDisposable {
  readonly #options: StagedHostsOptions;
  /** By the key of the place. */
  readonly #hosts = new Map<string, StagedHost>();
  readonly #unfilled = new Set<StagedHost>();
  /** Of shards that are no longer in the map. */
  readonly #ended: StagedHost[] = [];
  /** How many places share the request units. */
  #places = 1;

  private constructor(options: StagedHostsOptions) {
    this.#options = options;
  }

  /** Opens and starts a host in each place. @throws MillraceError `position-lost` */
  static async open(options: StagedHostsOptions): Promise<StagedHosts> {
    const staged = new StagedHosts(options);
    try {
      await staged.follow();
    } catch (error) {
      await staged.stop();
      throw error;
    }
    return staged;
  }

  /** Deletes the positions in each place. No process may work for the purpose any more. */
  static async forget(options: StagedOptions): Promise<void> {
    await inPlaces(await placesOf(options).of(options.spec), (place) => StagedHost.forget({ ...options, ...place }));
  }

  /**
   * Reads the shard map: opens a host in each shard that was added, and ends those of shards that are gone. True: none was
   * added.
   */
  async follow(): Promise<boolean> {
    const { shards, spec } = this.#options;
    const places = await placesOf(this.#options).of(spec, shards);
    const added = places.filter(({ key }) => !this.#hosts.has(key));
    for (const [key, host] of this.#hosts) {
      if (places.some((place) => place.key === key)) continue;
      this.#hosts.delete(key);
      this.#unfilled.delete(host);
      this.#ended.push(host);
      await host.stop();
    }
    if (this.#hosts.size === 0) this.#places = Math.max(1, places.length);
    await mapSettled(added, (place) => this.#open(place), { concurrency: 8 });
    return added.length === 0;
  }

  async #open({ key, open }: PipelinePlace): Promise<void> {
    const { startsIn, ruPerSecond, ...options } = this.#options;
    const place = await open();
    const host = await StagedHost.open({
      ...options,
      ...place,
      ...(startsIn && { startOf: await startsIn(place) }),
      ...(ruPerSecond !== undefined && { ruPerSecond: ruPerSecond / this.#places }),
    });
    this.#hosts.set(key, host);
    this.#unfilled.add(host);
  }

  /** As of one host, in all places. */
  async drained(signal: AbortSignal): Promise<void> {
    await this.#each(signal, this.#hosts.values(), (host, until) => host.drained(until));
  }

  /** As of one host, once in each place. */
  async fill(signal: AbortSignal): Promise<void> {
    await this.#each(signal, this.#unfilled, (host, until) => host.fill(until));
    this.#unfilled.clear();
  }

  async applyDeferred(signal: AbortSignal): Promise<void> {
    await this.#each(signal, this.#hosts.values(), (host, until) => host.applyDeferred(until));
  }

  async applyCold(signal: AbortSignal): Promise<void> {
    await this.#each(signal, this.#hosts.values(), (host, until) => host.applyCold(until));
  }

  /** Works in all places at the same time. A failure in one ends the work in the others. */
  async #each(
    signal: AbortSignal,
    hosts: Iterable<StagedHost>,
    work: (host: StagedHost, until: AbortSignal) => Promise<void>,
  ): Promise<void> {
    const failing = new AbortController();
    const until = AbortSignal.any([signal, failing.signal]);
    const all = [...hosts];
    await mapSettled(
      all,
      (host) =>
        work(host, until).catch((error: unknown) => {
          failing.abort(error);
          throw error;
        }),
      { concurrency: Math.max(1, all.length) },
    );
  }

  progress(): StagedProgress {
    const all = [...this.#hosts.values(), ...this.#ended].map((host) => host.progress());
    const sum = (of: (one: StagedProgress) => number): number => all.reduce((total, one) => total + of(one), 0);
    return {
      changes: sum(({ changes }) => changes),
      parked: sum(({ parked }) => parked),
      changed: all.some(({ changed }) => changed === null) ? null : sum(({ changed }) => changed ?? 0),
      charge: sum(({ charge }) => charge),
    };
  }

  /** Why a page was not taken the last time, in any place. */
  rejection(): unknown {
    return this.#hosts
      .values()
      .map((host) => host.rejection())
      .find((error) => error !== undefined);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#hosts.values().map((host) => host.stop()));
  }

  /** Deletes the positions of all places. Stop it first. */
  async removeLeases(): Promise<void> {
    await Promise.all(this.#hosts.values().map((host) => host.removeLeases()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
