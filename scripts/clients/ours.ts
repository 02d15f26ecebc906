import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CosmosClient } from '@azure/cosmos';
import { z } from 'zod';
import type { Emulator } from '../../src/emulator/index.ts';
import { ChangeFeedProcessor } from '../../src/feed/index.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { leaseNameOf } from '../../src/runtime/hosts/processor-name.ts';
import { keyLines } from './keys.ts';
import type { Request } from './verdict.ts';

const ROOT = join(import.meta.dirname, '../..');
const SHOP = join(ROOT, 'test/fixtures/shop');
/** Less than the other hosts have: they are stopped for certain when their leases are moved. */
const EXPIRATION_MS = '5000';
const PATIENCE_MS = 120_000;

const change = z.object({ id: z.string(), turn: z.number() });
type Change = z.output<typeof change>;

const of = z.object({ container: z.string() });
const written = of.extend({ from: z.number(), to: z.number() });
const exported = of.extend({ prefix: z.string(), dialect: z.string(), wanted: z.number() });
const wanting = of.extend({ wanted: z.array(change) });

/** Our half of a handover: the pipeline's processor and the command line, as a user has them. */
export class Ours {
  readonly env: Readonly<Record<string, string>>;
  readonly #emulator: Emulator;
  readonly #folder: string;
  /** What the other processor's leases of a container begin with. */
  readonly #prefixes = new Map<string, string>();

  /** `folder` has the server's certificate as `ca.pem`, and gets files of leases. */
  constructor(emulator: Emulator, folder: string) {
    this.#emulator = emulator;
    this.#folder = folder;
    this.env = {
      COSMOS: emulator.connectionString,
      COSMOS_DATABASE: 'shop',
      NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    };
  }

  /** The containers of the shop, which the judges have theirs beside. */
  async setUp(): Promise<void> {
    await this.#millrace('model', 'apply');
  }

  async answer(request: Request): Promise<object> {
    switch (request.turn) {
      case 'split':
        return { ranges: this.#emulator.split(`shop/${of.parse(request).container}`) };
      case 'keys':
        return { keys: keyLines() };
      case 'export':
        return { changes: await this.#handOver(exported.parse(request)) };
      case 'adopt':
        return this.#takeBack(of.parse(request));
      case 'write':
        return this.#write(written.parse(request));
      case 'read':
        return { changes: await this.#readAll(wanting.parse(request)) };
      default:
        throw new Error(`Unknown request ${request.turn}`);
    }
  }

  /** Reads some of the feed, and leaves its leases to another processor in the words of that one. */
  async #handOver({ container, prefix, dialect, wanted }: z.output<typeof exported>): Promise<Change[]> {
    const changes = await this.#read(container, (seen) => seen.length >= wanted);
    const file = join(this.#folder, `${container}.jsonl`);
    await this.#millrace('leases', 'export', '--container', container, '--dialect', dialect, '--file', file);
    const theirs = prefixOf(file).replace(await ownName(container), prefix);
    this.#prefixes.set(container, theirs);
    await this.#millrace('leases', 'import', file, '--prefix', theirs, '--lease-expiration', EXPIRATION_MS);
    return changes;
  }

  async #takeBack({ container }: z.output<typeof of>): Promise<object> {
    await this.#millrace('leases', 'adopt', this.#prefixes.get(container) ?? '', '--lease-expiration', EXPIRATION_MS);
    return {};
  }

  async #write({ container, from, to }: z.output<typeof written>): Promise<object> {
    const client = new CosmosClient(this.#emulator.clientOptions);
    const { items } = client.database('shop').container(container);
    for (let n = from; n < to; n++) await items.upsert({ id: `k${n}`, storeId: `s${n}`, turn: 1 });
    client.dispose();
    return {};
  }

  /** Goes on until it has seen what is wanted. */
  async #readAll({ container, wanted }: z.output<typeof wanting>): Promise<Change[]> {
    const version = ({ id, turn }: Change): string => `${id} ${turn}`;
    return this.#read(container, (seen) => {
      const versions = new Set(seen.map(version));
      return wanted.every((each) => versions.has(version(each)));
    });
  }

  async #read(container: string, enough: (seen: readonly Change[]) => boolean): Promise<Change[]> {
    const client = new CosmosClient({ ...this.#emulator.clientOptions, consistencyLevel: 'Session' });
    const database = client.database('shop');
    const seen: Change[] = [];
    const processor = new ChangeFeedProcessor({
      source: database.container(container),
      leases: database.container('leases'),
      name: await ownName(container),
      instance: 'ours',
      start: 'beginning',
      maxItems: 10,
      timings: { pollMs: 100, acquireMs: 200 },
      handler: (changes) => {
        seen.push(...changes.map(({ doc }) => change.parse(doc)));
      },
    });
    await processor.start();
    const end = performance.now() + PATIENCE_MS;
    while (!enough(seen) && performance.now() < end) await delay(20);
    await processor.stop();
    client.dispose();
    return seen;
  }

  async #millrace(...args: string[]): Promise<void> {
    const all = [join(ROOT, 'bin/millrace.mjs'), ...args, '--pipeline', SHOP];
    await promisify(execFile)(process.execPath, all, { cwd: ROOT, env: { ...process.env, ...this.env } });
  }
}

const ownName = async (container: string): Promise<string> =>
  leaseNameOf((await loadPipeline(SHOP)).pipeline, container, {});

/** Everything before the two dots of a lease's id. */
function prefixOf(file: string): string {
  const [first = ''] = readFileSync(file, 'utf8').split('\n');
  const { id } = z.object({ id: z.string() }).parse(JSON.parse(first));
  return id.slice(0, id.lastIndexOf('..'));
}
