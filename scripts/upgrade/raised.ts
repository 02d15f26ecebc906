import { Load } from './load.ts';
import { Fleet, verb } from './processes.ts';
import { recount } from './recount.ts';
import { type Outcome, type Run, judged, kill, letters } from './rolling.ts';
import { type Stage, asked, until } from './stage.ts';

/** Enough that hosts of the previous version soon read one after the rollback. */
const WRITTEN = 100;

/**
 * Checks hosts of a version that can't read a format of the next version: they must wait and report it, and park nothing.
 * After their upgrade nothing may be missing. `kind` is one that changes write, such as `locator` or `own`.
 */
export async function raised({ stage, previous, next, ms, dice, say }: Run, kind: string): Promise<Outcome> {
  const { env, database, blobs } = stage;
  const fleet = new Fleet(env);
  const load = new Load(database, dice);
  const wrong: string[] = [];
  let doctors = 0;
  try {
    say('two hosts of the previous version');
    for (const n of [1, 2]) fleet.start(previous, `previous-${n}`);
    await load.begin();
    await kill(fleet, dice, ms * 0.3);

    say(`hosts of the next version, which writes another format of ${kind}, beside them, then alone`);
    for (const n of [1, 2]) fleet.start(next, `next-${n}`);
    await kill(fleet, dice, ms * 0.2);
    for (const n of [1, 2]) await fleet.stop(`previous-${n}`, n === 1 ? 'SIGTERM' : 'SIGKILL');
    await kill(fleet, dice, ms * 0.2);
    await until('documents of format 2 are stored', async () => (await written(stage)) >= WRITTEN);

    say('rolled back too far: the previous version alone');
    for (const n of [1, 2]) fleet.start(previous, `previous-${n}`);
    for (const n of [1, 2]) await fleet.stop(`next-${n}`, n === 1 ? 'SIGKILL' : 'SIGTERM');
    await until('a host of the previous version says that it waits', async () =>
      /This host waits: .* has format 2;.*docs\/upgrading\.md/.test(fleet.said('previous')),
    );
    const findings = await verb<{ check: string; verdict: string }[]>(previous, env, ['doctor'], [0, 1]);
    doctors = findings.filter(({ check, verdict }) => check === 'formats' && verdict === 'bad').length;
    const parked = await letters(stage);
    if (parked > 0) wrong.push(`${parked} changes were parked because of a format.`);

    say('the hosts of the previous version are upgraded');
    for (const n of [1, 2]) {
      await fleet.stop(`previous-${n}`, n === 1 ? 'SIGTERM' : 'SIGKILL');
      fleet.start(next, `next-${n}`);
    }
    await kill(fleet, dice, ms * 0.3);
    await load.end();
    for (const name of fleet.names) await fleet.stop(name, 'SIGTERM');
  } finally {
    await load.end();
    await fleet.end();
  }

  say('everything is applied, verified by the next version, and counted again');
  wrong.push(...(await judged(stage, next, [next])));
  const { differences, ...counted } = await asked(() => recount(database, blobs, load));
  return {
    counts: {
      'writes of the application': load.writes,
      orders: counted.orders,
      'summaries, each once': counted.summaries,
      'days, each exact': counted.days,
      'hosts killed': fleet.kills,
      'kinds that doctor of the previous version reports': doctors,
    },
    wrong: [...wrong, ...differences],
  };
}

/** How many documents have a format that the previous version can't read. */
async function written({ database }: Stage): Promise<number> {
  const query = 'SELECT VALUE COUNT(1) FROM c WHERE c.format = 2 OR c._mr.format = 2';
  let sum = 0;
  for (const name of ['millrace', 'Summaries', 'Days', 'Customers'])
    sum += (await database.container(name).items.query<number>(query).fetchAll()).resources[0] ?? 0;
  return sum;
}
