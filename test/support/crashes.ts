// Every crash point of a short history: a process dies once a request of its has landed, or the answer to it is lost, at
// each request that it sends, and at each pair of them. Which requests there are comes from the run itself.
import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { CosmosClientOptions } from '@azure/cosmos';
import { MillraceError, messageOf } from '../../src/base/errors.ts';
import { requestKindOf } from '../../src/emulator/cosmos/wire/kind.ts';
import { Random } from './random.ts';
import { suiteSeed } from './seed.ts';
import { Life, type Most, ProcessTime } from './process-time.ts';

type HttpClient = Required<CosmosClientOptions>['httpClient'];
type Request = Parameters<HttpClient['sendRequest']>[0];

/** A request of a process that may die: to the account, to a store of blobs, to a sink. */
interface Boundary {
  readonly what: string;
  /** It changes something. A death after one that doesn't leaves what a death after the last change leaves: it isn't tried. */
  readonly writes: boolean;
}

/** `death`: the request landed, and the process that sent it is no more. `lost`: it landed, and its answer never comes. */
interface Fault {
  readonly at: number;
  readonly kind: 'death' | 'lost';
}
type Plan = readonly Fault[];

/** A process of a history. */
export interface Mortal {
  /** Another one for each process. */
  readonly name: string;
  /** How its requests get to the account. */
  transport(httpClient: HttpClient): HttpClient;
  /** A request to something other than the account. */
  request<T>(what: string, writes: boolean, send: () => Promise<T>): Promise<T>;
}

const current = new AsyncLocalStorage<Mortal>();

/** A request, to something other than the account, of the process whose work this is. */
export const boundary = <T>(what: string, writes: boolean, send: () => Promise<T>): Promise<T> =>
  current.getStore()?.request(what, writes, send) ?? send();

/** Where a history takes place, once. */
export interface World extends AsyncDisposable {
  /** All that there is to do. When a process dies at it, the next one does what is left. */
  work(process: Mortal): Promise<unknown>;
  /** Rejects if something is wrong in the end, or was left that would never end. */
  judge(): Promise<void>;
}

/** What all runs of a scenario share. */
export interface Stand extends AsyncDisposable {
  /** A world of its own for each run. */
  world(run: number): Promise<World>;
}

export interface Scenario {
  readonly name: string;
  open(time: ProcessTime): Promise<Stand>;
}

/** No history without a fault takes longer. */
const MOST: Most = { ms: 3 * 3_600_000, requests: 200_000 };
/** One with faults takes so much more: there are locks and freezes to wait for. */
const MORE: Most = { ms: 2 * 3_600_000, requests: 50_000 };
/** A verb may end with an error once an answer was lost, or a process died; its user runs it again, so often for each. */
const MOST_ERRORS = 4;
/** And so much later: a lock of a process that died is free by then. */
const AGAIN_MS = 300_000;
/** So many pairs are tried of one scenario; where there are more, so many by chance. */
const MOST_PAIRS = Number(process.env['MILLRACE_PAIRS'] ?? 300);

class Trial {
  readonly sent: Boundary[] = [];
  readonly errors: string[] = [];
  #life = new Life();
  readonly #plan: ReadonlyMap<number, Fault['kind']>;
  readonly #time: ProcessTime;

  constructor(time: ProcessTime, plan: Plan) {
    this.#time = time;
    this.#plan = new Map(plan.map(({ at, kind }) => [at, kind]));
  }

  async run(world: World): Promise<void> {
    for (let n = 1; ; n++) {
      const life = (this.#life = new Life());
      const died = Promise.withResolvers<'died'>();
      const mortal = this.#mortal(`process-${n}`, life, () => died.resolve('died'));
      const working = this.#time.live(life, () => current.run(mortal, () => world.work(mortal)));
      const outcome = await Promise.race([
        died.promise,
        working.then(
          () => undefined,
          (error: unknown) => ({ error }),
        ),
      ]);
      life.over = true;
      if (outcome === undefined) return;
      if (outcome === 'died') continue;
      const { error } = outcome;
      if (!(error instanceof MillraceError) || this.errors.length === this.#plan.size * MOST_ERRORS) throw error;
      this.errors.push(error.code);
      await delay(AGAIN_MS);
    }
  }

  /** Its process has died. */
  end(): void {
    this.#life.over = true;
  }

  #mortal(name: string, life: Life, die: () => void): Mortal {
    const request = <T>(what: string, writes: boolean, send: () => Promise<T>): Promise<T> =>
      this.#time.request(async () => {
        const at = this.sent.push({ what, writes }) - 1;
        const answer = await send().catch((error: unknown) => ({ error }));
        const fault = this.#plan.get(at);
        if (fault === 'death' && !life.over) {
          life.over = true;
          die();
        }
        if (fault === 'lost')
          throw Object.assign(new Error('socket hang up'), { name: 'RestError', code: 'ECONNRESET' });
        if (typeof answer === 'object' && answer !== null && 'error' in answer) throw answer.error;
        return answer;
      });
    return {
      name,
      request,
      transport: ({ sendRequest }) => ({ sendRequest: (of) => request(...boundaryOf(of), () => sendRequest(of)) }),
    };
  }
}

/** Kinds of requests that change nothing. */
const READS = /^(read|query|query-plan|read-feed|change-feed|account|.*\.get)$/;

function boundaryOf({ method, url, headers }: Request): [string, boolean] {
  const segments = new URL(url).pathname.split('/').filter((of) => of !== '');
  const kind = requestKindOf({ method, segments, headers: headers.toJSON(), body: Buffer.of() });
  return [`${kind} ${segments.slice(3, 4).join('')} ${segments.slice(5).join('/')}`.trim(), !READS.test(kind)];
}

/** What was found out about a scenario. */
export interface Crashes {
  readonly name: string;
  readonly seed: number;
  /** Requests of the history without a fault, and how many of them change something. */
  readonly boundaries: number;
  readonly writes: number;
  /** Runs with one fault. */
  readonly single: number;
  /** Runs with two, of so many that there are. */
  readonly pairs: number;
  readonly allPairs: number;
  /** How often a verb ended with which error, and was run again. */
  readonly errors: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
}

const KINDS: readonly Fault['kind'][] = ['death', 'lost'];
const textOf = (plan: Plan): string => plan.map(({ at, kind }) => `${at}${kind[0]}`).join(',');
const planOf = (text: string): Plan =>
  text.split(',').map((one) => ({ at: Number.parseInt(one, 10), kind: one.endsWith('d') ? 'death' : 'lost' }));

/**
 * Runs a scenario with a fault at each boundary of each kind, and with two wherever requests change something. `share`:
 * one run of so many, which ones by the seed; 1: all of them. MILLRACE_CRASH=12d,20l runs one plan alone.
 */
export async function crashes(scenario: Scenario, share: number): Promise<Crashes> {
  const seed = suiteSeed();
  const random = new Random(seed);
  const found = { failures: [] as string[], errors: new Map<string, number>() };
  using time = new ProcessTime();
  await using stand = await scenario.open(time);
  let runs = 0;
  let bound = MOST;
  const run = async (plan: Plan): Promise<readonly Boundary[]> => {
    time.begin(1);
    const [passed, requests] = [time.passed, time.requests];
    const trial = new Trial(time, plan);
    const whole = async (): Promise<void> => {
      await using world = await stand.world((runs += 1));
      await trial.run(world);
      await world.judge();
    };
    const life = new Life();
    try {
      await time.run(time.live(life, whole), bound);
      if (plan.length === 0)
        bound = { ms: time.passed - passed + MORE.ms, requests: time.requests - requests + MORE.requests };
    } catch (error) {
      const at = plan.map(({ at: n, kind }) => `${kind} of ${n} (${trial.sent[n]?.what ?? 'never sent'})`).join(', ');
      const failure = `MILLRACE_CRASH=${textOf(plan)} ${scenario.name}: ${at}; last ${trial.sent.length - 1} (${trial.sent.at(-1)?.what ?? 'none'}): ${said(error)}`;
      found.failures.push(failure);
      // At once: there may be hours of others.
      console.log(failure);
    }
    life.over = true;
    trial.end();
    for (const code of trial.errors) found.errors.set(code, (found.errors.get(code) ?? 0) + 1);
    return trial.sent;
  };
  const given = process.env['MILLRACE_CRASH'];
  if (given !== undefined) {
    const sent = await run(planOf(given));
    for (const [at, { what, writes }] of sent.entries()) console.log(`${at} ${writes ? 'W' : ' '} ${what}`);
  }
  const base = given === undefined ? await run([]) : [];
  let single = 0;
  // A scenario that fails without a fault shows nothing about faults.
  const worth = (): boolean => found.failures.length < 10 && (single > 0 || found.failures.length === 0);
  const chosen = (): boolean => share === 1 || random.int(share) === 0;
  const faultsOf = (sent: readonly Boundary[], after = -1): Fault[] =>
    sent.flatMap(({ writes }, at) =>
      at > after ? KINDS.filter((kind) => writes || kind === 'lost').map((kind) => ({ at, kind })) : [],
    );
  const firsts: { readonly first: Fault; readonly seconds: readonly Fault[] }[] = [];
  for (const first of faultsOf(base)) {
    if (!worth() || !chosen()) continue;
    const sent = await run([first]);
    single += 1;
    if (base[first.at]?.writes !== true) continue;
    firsts.push({ first, seconds: faultsOf(sent, first.at).filter(({ at }) => sent[at]?.writes) });
  }
  const all = firsts.flatMap(({ first, seconds }) => seconds.map((second) => [first, second] as const));
  const most = Math.ceil(MOST_PAIRS / share);
  const pairs = all.length <= most ? all : random.shuffle(all).slice(0, most);
  for (const plan of pairs) if (worth()) await run(plan);
  return {
    ...found,
    name: scenario.name,
    seed,
    boundaries: base.length,
    writes: base.filter(({ writes }) => writes).length,
    single,
    pairs: pairs.length,
    allPairs: all.length,
  };
}

function said(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? ` (${messageOf(error.cause)})` : '';
  return `${messageOf(error)}${cause}\n${error instanceof Error ? (error.stack ?? '').split('\n').slice(1, 8).join('\n') : ''}`;
}
