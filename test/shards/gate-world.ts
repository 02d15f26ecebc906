import { CosmosClient, type Database } from '@azure/cosmos';
import { type Emulator, startEmulator } from '../../src/emulator/index.ts';
import { type GateDocument, type WriteGate, gatePartition, openWriteGate } from '../../src/shards/gate/write-gate.ts';
import { type MigrateOptions, type Migrated, migrate } from '../../src/procedures/migrate/migrate.ts';
import { type Answer, type Request, VirtualProcess, VirtualTime, answerOf } from '../support/virtual-time.ts';

export const SOURCE = 'Orders';
export const TARGET = 'ByCustomer';

interface Order {
  readonly id: string;
  readonly storeId: string;
  readonly customerId: string;
  readonly n: number;
}

/** Two containers, the gate of one of them, processes that write through it and processes that migrate, in virtual time. */
export class GateWorld implements AsyncDisposable {
  /** The last write of each document that was acknowledged. */
  readonly acknowledged = new Map<string, number>();
  /** Writes that were admitted to another container than the gate named at that moment. */
  readonly astray: string[] = [];
  readonly time: VirtualTime;
  readonly #emulator: Emulator;
  readonly #clients: CosmosClient[] = [];
  /** Where the gate sends writes, as it is stored. */
  #target = SOURCE;

  private constructor(emulator: Emulator) {
    this.#emulator = emulator;
    this.time = new VirtualTime(emulator);
  }

  static async open(seed: number): Promise<GateWorld> {
    const emulator = await startEmulator({ seed });
    const world = new GateWorld(emulator);
    const { database } = await world.client((_, send) => send()).databases.create({ id: 'd' });
    await database.containers.create({ id: 'millrace', partitionKey: '/pk', defaultTtl: -1 });
    await database.containers.create({ id: SOURCE, partitionKey: '/storeId' });
    await database.containers.create({ id: TARGET, partitionKey: '/customerId' });
    return world;
  }

  get target(): string {
    return this.#target;
  }

  /** A client whose requests `around` may hold up; session consistency where `session`. */
  client(around: (request: Request, send: () => Promise<Answer>) => Promise<Answer>, session = false): CosmosClient {
    const httpClient = this.time.transport((request, send) =>
      around(request, async () => {
        const answer = await send();
        if (isGateChange(request) && answer.status === 200)
          this.#target = (JSON.parse(String(answer.bodyAsText)) as GateDocument).target.container;
        return answer;
      }),
    );
    const made = new CosmosClient({
      ...this.#emulator.clientOptions,
      httpClient,
      ...(session ? { consistencyLevel: 'Session' } : {}),
      connectionPolicy: {
        retryOptions: { maxRetryAttemptCount: 0, fixedRetryIntervalInMilliseconds: 0, maxWaitTimeInSeconds: 0 },
      },
    });
    this.#clients.push(made);
    return made;
  }

  /** From here on readers without a session see what was `ms` ago. */
  lag(ms: number): void {
    this.#emulator.faults({ replicaLagMs: ms });
  }

  /** What each acknowledged write should have left and hasn't, in the container that writes go to. */
  async lost(): Promise<string[]> {
    const container = this.client((_, send) => send())
      .database('d')
      .container(this.#target);
    const { resources } = await container.items.query<Order>('SELECT * FROM c').fetchAll();
    const stored = new Map(resources.map(({ id, n }) => [id, n]));
    return [...this.acknowledged]
      .filter(([id, n]) => stored.get(id) !== n)
      .map(([id, n]) => `${id} was acknowledged as ${n}; ${this.#target} has ${stored.get(id) ?? 'nothing'}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.#clients) client.dispose();
    await this.#emulator.close();
  }
}

/** A process that writes through the gate: documents of its own, one after the other in each of its loops. */
export class WritingProcess {
  readonly process: VirtualProcess;
  /** Until when its heartbeats are throttled, and until when it can't reach the gate at all. */
  throttledUntil = 0;
  cutOffUntil = 0;
  readonly #world: GateWorld;
  readonly #name: string;
  readonly #database: Database;
  readonly #landing: number[] = [];
  #gate: WriteGate | undefined;
  #written = 0;

  constructor(world: GateWorld, name: string) {
    this.#world = world;
    this.#name = name;
    this.process = new VirtualProcess(world.time);
    this.#database = world.client((request, send) => this.#around(request, send)).database('d');
  }

  async open(pollMs = 200): Promise<void> {
    const state = this.#database.container('millrace');
    this.#gate = await openWriteGate(state, SOURCE, { pollMs, clock: this.process });
  }

  /** Writes a document once it is admitted; the request lands, and is answered, so much later. */
  async write(document: string, landingMs = 0): Promise<void> {
    const gate = this.#gate;
    if (!gate) throw new Error(`${this.#name} has not opened the gate`);
    using pass = await gate.enter();
    const { container } = pass.target;
    if (container !== this.#world.target)
      this.#world.astray.push(`${this.#name} was admitted to ${container} at ${this.process.monotonic()} ms`);
    const n = (this.#written += 1);
    const id = `${this.#name}-${document}`;
    const order: Order = { id, storeId: `s${id}`, customerId: `c${id}`, n };
    this.#landing.push(landingMs);
    await this.#database.container(container).items.upsert(order);
    this.#world.acknowledged.set(id, n);
  }

  async close(): Promise<void> {
    await this.#gate?.[Symbol.asyncDispose]();
  }

  async #around(request: Request, send: () => Promise<Answer>): Promise<Answer> {
    const { time } = this.#world;
    const now = time.monotonic();
    const atState = request.url.includes('/colls/millrace/docs');
    const throttled = request.method === 'GET' ? this.cutOffUntil : Math.max(this.throttledUntil, this.cutOffUntil);
    if (atState && now < throttled) return answerOf(request, 429);
    if (!atState && request.method === 'POST' && request.url.endsWith('/docs'))
      await time.sleep(this.#landing.shift() ?? 0);
    const answer = await send();
    await this.process.awake();
    return answer;
  }
}

/** A process that migrates, and may die. */
export class MigratingProcess {
  readonly process: VirtualProcess;
  readonly migrated: Promise<Migrated>;
  readonly #ending = new AbortController();
  #dead = false;

  /** `closedMs`: for how long it stands still once the gate is closing; `switchMs`: how late its opening lands. */
  constructor(world: GateWorld, { closedMs = 0, switchMs = 0, rollback = false } = {}) {
    const { time } = world;
    this.process = new VirtualProcess(time);
    const around = async (request: Request, send: () => Promise<Answer>): Promise<Answer> => {
      if (this.#dead) return new Promise(() => undefined);
      const change = isGateChange(request) ? textOf(request) : '';
      const opens = change.includes('"open"') && !change.includes(`"${world.target}"`);
      if (opens) await time.sleep(switchMs);
      const answer = await send();
      if (change.includes('"closing"')) this.process.standStill(closedMs);
      await this.process.awake();
      return this.#dead ? new Promise(() => undefined) : answer;
    };
    const database = world.client(around, true).database('d');
    const options: MigrateOptions = {
      state: database.container('millrace'),
      source: database.container(SOURCE),
      target: database.container(TARGET),
      signal: this.#ending.signal,
      readLagMs: 0,
      clock: this.process,
      rollback,
    };
    this.migrated = migrate(options);
    this.migrated.catch(() => undefined);
  }

  /** What it has sent still lands. */
  die(): void {
    this.#dead = true;
  }
}

const isGateChange = ({ method, url, headers }: Request): boolean =>
  method === 'PATCH' &&
  url.endsWith('/docs/gate') &&
  String(headers.get('x-ms-documentdb-partitionkey')).includes(gatePartition(SOURCE));

const textOf = ({ body }: Request): string => (typeof body === 'string' ? body : '');
