import { setImmediate as turn } from 'node:timers/promises';
import { MillraceError } from '../../src/base/errors.ts';
import type { Database } from '../../src/postgres/database.ts';
import type { Random } from '../support/random.ts';
import { Crash } from './history.ts';

/** A server whose answers get lost, and a host that dies or falls asleep in the middle of a transaction. */
export const faulty = (inner: Database, random: Random): Database => ({
  ...inner,
  transaction: async (work, options) => {
    const pause = async (): Promise<void> => {
      if (random.chance(0.02)) throw new Crash();
      for (let turns = random.chance(0.08) ? 200 + random.int(300) : random.int(3); turns > 0; turns--) await turn();
    };
    const result = await inner.transaction(async (session) => {
      const done = await work({
        query: async (sql, values) => {
          await pause();
          return session.query(sql, values);
        },
      });
      await pause();
      return done;
    }, options);
    if (random.chance(0.05)) throw new MillraceError('lost', 'The answer to the commit was lost', { retryable: true });
    await pause();
    return result;
  },
});
