import assert from 'node:assert/strict';
import { ChangeFeedStartFrom, PartitionKeyDefinitionVersion } from '@azure/cosmos';
import type { Container, ContainerRequest, FeedRange } from '@azure/cosmos';
import { expect, test } from 'vitest';
import { seeded } from '../../src/emulator/random.ts';
import { ADVERSE, startEmulator } from '../../src/emulator/index.ts';
import type { Emulator } from '../../src/emulator/index.ts';
import { suiteSeed } from '../support/seed.ts';
import { clientInside, HASH_KEY, insist, TWO_LEVELS } from './emulate.ts';

const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 6);
const SEED = suiteSeed();
/** Ends a hang, and nothing that is merely slow. */
const TIMEOUT_MS = 60_000 + HISTORIES * 20_000;
const STEPS = 80;
const V1_KEY = { paths: ['/pk'], version: PartitionKeyDefinitionVersion.V1 };
const KEYS = [HASH_KEY, TWO_LEVELS, V1_KEY];

interface Doc {
  readonly id: string;
  readonly pk: string;
  readonly v: number;
}

/** Follows one range, or the whole container, by new iterators from stored tokens; no version may come twice but by the client's own fault. */
class Follower {
  readonly seen = new Map<string, number>();
  #token: string | undefined;
  #doubled = false;
  readonly #range: FeedRange | undefined;

  constructor(range?: FeedRange) {
    this.#range = range;
  }

  /** The ranges of the token, sorted, as one text; '' before the first page. */
  ranges(): string {
    const parts = this.#token === undefined ? [] : partsOf(this.#token);
    return parts.map(({ minInclusive, maxExclusive }) => `${minInclusive}-${maxExclusive}`).join(' ');
  }

  /** Up to `pages` pages by one iterator; whether the last one said that nothing is left. */
  follow(container: Container, size: number, pages: number): Promise<boolean> {
    return insist(() => this.#follow(container, size, pages));
  }

  async #follow(container: Container, size: number, pages: number): Promise<boolean> {
    const start =
      this.#token === undefined
        ? ChangeFeedStartFrom.Beginning(...(this.#range ? [this.#range] : []))
        : ChangeFeedStartFrom.Continuation(this.#token);
    const iterator = container.items.getChangeFeedIterator<Doc>({ changeFeedStartFrom: start, maxItemCount: size });
    for (let i = 0; i < pages; i++) {
      const page = await iterator.readNext();
      this.#token = page.continuationToken;
      this.#doubled ||= overlaps(page.continuationToken);
      for (const { id, pk, v } of page.result) {
        const name = `${pk}/${id}`;
        const last = this.seen.get(name) ?? 0;
        assert(v > last || (this.#doubled && v === last), `${name} version ${v} after ${last}`);
        this.seen.set(name, v);
      }
      if (page.statusCode === 304) return true;
    }
    return false;
  }
}

/**
 * Whether a token names a part of the key space twice. The client does so where a range is split once more while it goes
 * over to the first split's children (ASM-E51); it then repeats what it read there, and loses nothing.
 */
function overlaps(token: string): boolean {
  const parts = partsOf(token);
  return parts.some(({ minInclusive }, i) => i > 0 && minInclusive < parts[i - 1]!.maxExclusive);
}

function partsOf(token: string): { minInclusive: string; maxExclusive: string }[] {
  const { Continuation: parts } = JSON.parse(token) as {
    Continuation: { minInclusive: string; maxExclusive: string }[];
  };
  return parts.toSorted((a, b) => (a.minInclusive < b.minInclusive ? -1 : 1));
}

async function history(emulator: Emulator, container: Container, name: string, random: () => number): Promise<string> {
  const pick = (n: number): number => Math.floor(random() * n);
  const whole = new Follower();
  const parts = ((await insist(() => container.getFeedRanges())) as FeedRange[]).map((range) => new Follower(range));
  const live = new Map<string, number>();
  let [v, splits, merges] = [0, 0, 0];
  for (let step = 0; step < STEPS; step++) {
    const [pk, id] = [`k${pick(12)}`, `i${pick(3)}`];
    const action = random();
    if (action < 0.55) {
      // A new version each time: one whose answer got lost may have been there, and been seen.
      const { resource } = await insist(() => container.items.upsert<Doc>({ id, pk, v: ++v, t: pk, u: id } as Doc));
      live.set(`${pk}/${id}`, v);
      // The client's session token was made by partitions that may be gone by now.
      const key = name === 'two' ? [pk, id] : pk;
      const read = await insist(() => container.item(id, key).read<Doc>());
      assert.equal(read.resource?.v, resource?.v);
    } else if (action < 0.63) {
      const ranges = await ids(container);
      if (cut(emulator, container, ranges[pick(ranges.length)]!, pick(3))) splits++;
    } else if (action < 0.67) {
      const ranges = await ids(container);
      const at = pick(ranges.length - 1);
      if (ranges.length > 1) {
        emulator.merge(`d/${container.id}`, [ranges[at]!, ranges[at + 1]!]);
        merges++;
      }
    } else {
      const follower = [whole, ...parts][pick(1 + parts.length)]!;
      await follower.follow(container, 1 + pick(6), 1 + pick(4));
    }
  }
  for (const follower of [whole, ...parts]) {
    // The client may say 304 before it has looked at the children of a range that it found split on the way. It has looked
    // at all only if its token names the same ranges as before.
    for (let quiet = 0; quiet < 3;) {
      const before = follower.ranges();
      const ended = await follower.follow(container, 1 + pick(6), 50);
      quiet = ended && follower.ranges() === before ? quiet + 1 : 0;
    }
  }
  expect(sorted(whole.seen)).toEqual(sorted(live));
  expect(sorted(new Map(parts.flatMap(({ seen }) => [...seen])))).toEqual(sorted(live));
  const found = await insist(() => container.items.query<Doc>('SELECT * FROM c', { maxItemCount: 5 }).fetchAll());
  expect(sorted(new Map(found.resources.map((doc) => [`${doc.pk}/${doc.id}`, doc.v])))).toEqual(sorted(live));
  return `${splits > 0 ? 's' : ''}${merges > 0 ? 'm' : ''}`;
}

/** Splits a range, unless it holds one key only and can't be cut. */
function cut(emulator: Emulator, container: Container, range: string, refuse: number): boolean {
  try {
    emulator.split(`d/${container.id}`, range, { refuse });
    return true;
  } catch (error) {
    if ((error as Error).message.includes('too small')) return false;
    throw error;
  }
}

const sorted = (map: Map<string, number>): [string, number][] => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1));

async function ids(container: Container): Promise<string[]> {
  const { resources } = await insist(() => container.readPartitionKeyRanges().fetchAll());
  return resources.map(({ id }) => id);
}

test(
  `the feed loses and repeats nothing over splits and merges, in ${HISTORIES} random histories on a bad day`,
  { timeout: TIMEOUT_MS },
  async () => {
    const emulator = await startEmulator({ seed: SEED });
    const client = clientInside(emulator);
    const { database } = await client.databases.create({ id: 'd' });
    const kinds = new Set<string>();
    try {
      for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
        const request: ContainerRequest = { id: `c${seed}`, throughput: 400 + (seed % 2) * 6000 };
        const partitionKey = KEYS[seed % KEYS.length]!;
        const { container } = await database.containers.create({ ...request, partitionKey });
        const name = partitionKey === TWO_LEVELS ? 'two' : 'one';
        emulator.faults(ADVERSE);
        kinds.add(
          await history(emulator, container, name, seeded(seed)).catch((error: unknown) => {
            throw new Error(`MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`, { cause: error });
          }),
        );
        emulator.faults({});
      }
    } finally {
      client.dispose();
      await emulator.close();
    }
    expect(HISTORIES <= 5 || kinds.has('sm')).toBe(true);
    expect(emulator.stats().faults).toBeGreaterThan(HISTORIES);
  },
);
