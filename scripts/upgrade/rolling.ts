import { setTimeout as delay } from 'node:timers/promises';
import type { Dice } from '../../src/testing/dice.ts';
import { Load } from './load.ts';
import type { Installed } from './packages.ts';
import { type Env, Fleet, verb } from './processes.ts';
import { recount } from './recount.ts';
import { type Stage, asked, until } from './stage.ts';
import { Takeovers } from './takeovers.ts';

export interface Run {
  readonly stage: Stage;
  readonly previous: Installed;
  readonly next: Installed;
  /** How long the hosts run. */
  readonly ms: number;
  readonly dice: Dice;
  readonly say: (line: string) => void;
}

export interface Outcome {
  readonly counts: Readonly<Record<string, number>>;
  /** One sentence each. */
  readonly wrong: readonly string[];
}

const BAD = 5;
/** With it `summaries` accepts bad orders. */
const LENIENT: Env = { UPGRADE_LENIENT: '1' };

/** Upgrades two hosts one by one, lets the next version work alone, and rolls back. Hosts are killed all the time. */
export async function rolling(run: Run): Promise<Outcome> {
  const { stage, previous, next, ms, dice, say } = run;
  const { env, database, blobs } = stage;
  const fleet = new Fleet(env);
  const takeovers = new Takeovers(database.container('leases'));
  const load = new Load(database, dice);
  const redriven = { previous: 0, next: 0 };
  const restored = { previous: 0, next: 0 };
  let jobs = 0;
  const between = (share: number) => kill(fleet, dice, ms * share);

  const park = async (): Promise<void> => {
    await load.bad(BAD);
    await until('bad orders are parked', async () => (await letters(stage)) === BAD);
  };
  const byJob = (await hasJobs(previous, env)) && (await hasJobs(next, env));
  if (!byJob) say("one of the versions can't open the job datastore: dead letters are redriven without a job");
  /** Redrives all dead letters. One version enqueues the job, and the other does it. */
  const redrive = async (asks: Installed, does: Installed): Promise<void> => {
    const lenient = { ...env, ...LENIENT };
    if (byJob) {
      await verb(asks, env, ['dead-letters', 'redrive', '--background']);
      await verb(does, lenient, ['jobs', 'work', '--within', '120']);
      jobs += 1;
    } else await verb(does, lenient, ['dead-letters', 'redrive']);
    await until('no dead letter is left', async () => (await letters(stage)) === 0);
    redriven[does === next ? 'next' : 'previous'] += BAD;
  };
  /** Sweeps until something is archived. Returns the new entries. */
  const sweep = async (by: Installed): Promise<Archived[]> => {
    const before = new Set((await archived(stage)).map(({ id }) => id));
    let fresh: Archived[] = [];
    await until(`${by.name} archives something`, async () => {
      await verb(by, env, ['archive', 'sweep']);
      fresh = (await archived(stage)).filter(({ id }) => !before.has(id));
      return fresh.length > 0;
    });
    return fresh;
  };
  const restore = async (by: Installed, [one]: readonly Archived[]): Promise<void> => {
    if (!one) throw new Error('Nothing was archived');
    const args = ['archive', 'restore', '--key', JSON.stringify(one.key), '--id', one.id];
    const results = await verb<{ restored: number }[] | { results: { restored: number }[] }>(by, env, args);
    const all = Array.isArray(results) ? results : results.results;
    restored[by === next ? 'next' : 'previous'] += all.reduce((sum, result) => sum + result.restored, 0);
  };

  try {
    say('two hosts of the previous version');
    for (const n of [1, 2]) fleet.start(previous, `previous-${n}`);
    await load.begin();
    await park();
    const byPrevious = await sweep(previous);
    await between(0.1);

    say('hosts of the next version beside them');
    fleet.start(next, 'next-1');
    await between(0.2);
    fleet.start(next, 'next-2');
    await between(0.3);

    say('the next version alone');
    await fleet.stop('previous-1', 'SIGTERM');
    await between(0.05);
    await fleet.stop('previous-2', 'SIGKILL');
    await redrive(previous, next);
    await restore(next, byPrevious);
    await park();
    const byNext = await sweep(next);
    await between(0.1);

    say('rolled back: the previous version beside it, then alone');
    fleet.start(previous, 'previous-1');
    await between(0.1);
    fleet.start(previous, 'previous-2');
    await fleet.stop('next-1', 'SIGKILL');
    await between(0.05);
    await fleet.stop('next-2', 'SIGTERM');
    await redrive(next, previous);
    await restore(previous, byNext);
    await between(0.1);
    await load.end();
    for (const name of fleet.names) await fleet.stop(name, 'SIGTERM');
  } finally {
    await load.end();
    await takeovers.end();
    await fleet.end();
  }

  say('everything is applied, verified by both versions, and counted again');
  const wrong = [
    ...(await judged(stage, previous, [previous, next])),
    ...(takeovers.counts.forward === 0 ? ['No lease went from the previous version to the next.'] : []),
    ...(takeovers.counts.back === 0 ? ['No lease went from the next version back to the previous.'] : []),
    ...(['previous', 'next'] as const)
      .filter((name) => restored[name] !== 1)
      .map((name) => `${name} restored ${restored[name]} of the documents that the other version archived.`),
  ];
  const { differences, ...counted } = await asked(() => recount(database, blobs, load));
  return {
    counts: {
      'writes of the application': load.writes,
      orders: counted.orders,
      'of them in the archive': counted.cold,
      'summaries, each once': counted.summaries,
      'days, each exact': counted.days,
      'customers with their embedded field': counted.customers,
      'countries in stores': counted.storeCountries,
      'hosts killed': fleet.kills,
      'leases taken from the previous version by the next': takeovers.counts.forward,
      'leases taken back': takeovers.counts.back,
      'dead letters parked by the previous version, redriven by the next': redriven.next,
      'dead letters parked by the next version, redriven by the previous': redriven.previous,
      'jobs enqueued by one version and done by the other': jobs,
      'documents archived by the previous version, restored by the next': restored.next,
      'documents archived by the next version, restored by the previous': restored.previous,
    },
    wrong: [...wrong, ...differences],
  };
}

/** Whether a version can open the job datastore. */
const hasJobs = (by: Installed, env: Env): Promise<boolean> =>
  verb(by, env, ['jobs', 'list']).then(
    () => true,
    () => false,
  );

/** Kills a host every 2 to 6 seconds, for `ms`. */
export async function kill(fleet: Fleet, dice: Dice, ms: number): Promise<void> {
  const end = performance.now() + ms;
  for (;;) {
    const pause = Math.min(2_000 + dice.int(4_000), end - performance.now());
    if (pause <= 0) return;
    await delay(pause);
    if (performance.now() < end) await fleet.kill(dice.pick(fleet.names));
  }
}

/** Applies the remaining changes with the version `drains`, then lets each version verify all documents and archives. */
export async function judged(stage: Stage, drains: Installed, versions: readonly Installed[]): Promise<string[]> {
  const wrong: string[] = [];
  // Bad orders were redriven, so verification must expect them.
  const env = { ...stage.env, ...LENIENT };
  await verb(drains, env, ['run', '--once', '--poll-delay', '100', '--lease-expiration', '3000']);
  for (const by of versions) {
    const { different } = await verb<{ different: number }>(by, env, ['projections', 'verify'], [0, 1]);
    if (different !== 0) wrong.push(`projections verify of the ${by.name} version finds ${different} differences.`);
    const archives = await verb<{ faults: unknown[] }[]>(by, env, ['archive', 'verify'], [0, 1]);
    if (archives.some(({ faults }) => faults.length > 0))
      wrong.push(`archive verify of the ${by.name} version finds faults.`);
    const left = await verb<unknown[]>(by, env, ['dead-letters', 'list']);
    if (left.length > 0) wrong.push(`${left.length} dead letters are left.`);
  }
  return wrong;
}

/** How many dead letters there are. */
export async function letters({ database }: Stage): Promise<number> {
  const query = "SELECT VALUE COUNT(1) FROM c WHERE c.kind = 'dead-letter'";
  return (await asked(() => database.container('millrace').items.query<number>(query).fetchAll())).resources[0] ?? 0;
}

interface Archived {
  readonly id: string;
  readonly key: unknown;
}

async function archived({ database }: Stage): Promise<Archived[]> {
  const query = "SELECT VALUE c.source FROM c WHERE c.type = 'millrace.archived' AND c.state = 'archived'";
  return (await asked(() => database.container('millrace').items.query<Archived>(query).fetchAll())).resources;
}
