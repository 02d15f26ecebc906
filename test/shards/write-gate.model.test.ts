// Random histories of processes that write through a gate while others migrate the container, there and back, and die: in
// virtual time, with the real gate, migration and server. Writers stand still, lose their heartbeats and nothing else, or
// all of it; writes and the migration's last word land late. Whatever happens, no acknowledged write is lost (MIG-M1),
// and no write is admitted to another container than the one that the gate names at that moment (MIG-M2).
import { expect, it } from 'vitest';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { GateWorld, MigratingProcess, TARGET, WritingProcess } from './gate-world.ts';

const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 3);
const LONGEST_MS = 400_000;
/** A write that is sent lands within this: the client ends it after a minute. */
const LANDING_MS = 60_000;

it(`no acknowledged write is lost, and none goes astray (seed ${SEED})`, async () => {
  const failures: string[] = [];
  let moved = 0;
  for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
    const { said, moves } = await history(seed).catch((error: unknown) => ({ said: [String(error)], moves: 0 }));
    failures.push(...said.map((text) => `${text} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`));
    moved += moves;
  }
  expect(failures).toEqual([]);
  // One history in eight moves nothing.
  expect(HISTORIES < 10 || moved > 0).toBe(true);
});

async function history(seed: number): Promise<{ said: string[]; moves: number }> {
  const random = new Random(seed);
  await using world = await GateWorld.open(seed);
  const { time } = world;
  if (random.chance(0.5)) world.lag(random.int(4_000));
  const writers = ['a', 'b', 'c'].map((name) => new WritingProcess(world, name));
  await time.run(Promise.all(writers.map((writer) => writer.open(3_000))));
  const over = (): boolean => time.monotonic() > LONGEST_MS;
  let moves = 0;

  const write = async (writer: WritingProcess, loop: number): Promise<void> => {
    while (!over()) {
      await writer.process.awake();
      await writer.write(`${loop}-${random.int(3)}`, random.chance(0.3) ? random.int(LANDING_MS) : 0);
      await writer.process.sleep(500 + random.int(8_000));
    }
  };
  const disturb = async (writer: WritingProcess): Promise<void> => {
    while (!over()) {
      await time.sleep(random.int(120_000));
      const until = time.monotonic() + random.int(200_000);
      const kind = random.pick(['stands still', 'throttled', 'throttled', 'cut off']);
      if (kind === 'stands still') writer.process.standStill(random.int(150_000));
      else if (kind === 'throttled') writer.throttledUntil = until;
      else writer.cutOffUntil = until;
    }
  };
  const migrate = async (): Promise<void> => {
    while (!over()) {
      await time.sleep(5_000 + random.int(60_000));
      const rollback = world.target === TARGET;
      const migrating = new MigratingProcess(world, {
        rollback,
        closedMs: random.chance(0.3) ? random.int(62_000) : 0,
        // Throttled for a minute, and on its way for another.
        switchMs: random.chance(0.4) ? random.int(125_000) : 0,
      });
      const ended = migrating.migrated.then(
        () => void (moves += 1),
        () => undefined,
      );
      if (!random.chance(0.3)) await ended;
      else {
        await Promise.race([ended, time.sleep(random.int(100_000))]);
        migrating.die();
      }
    }
  };
  const loops = writers.flatMap((writer) => [write(writer, 1), write(writer, 2), disturb(writer)]);
  await time.run(Promise.all([...loops, migrate()]));
  // What was sent by those that died lands as well.
  await time.run(time.sleep(130_000));
  world.lag(0);
  const said = [...world.astray, ...(await time.run(world.lost()))];
  await time.run(Promise.all(writers.map((writer) => writer.close())));
  return { said, moves };
}
