// Documents without a key, with null and with a value under one id, as children of an embed and as sources of copies that
// wait for their owner, whose name is their key: after any history each is what the oracle says.
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { verify } from '../../src/procedures/verify/verify.ts';
import { Random } from '../support/random.ts';
import { suiteSeed } from '../support/seed.ts';
import { openStage } from '../support/stage.ts';
import { live } from '../verbs/projections/versions.ts';

const KEYLESS = join(import.meta.dirname, '../fixtures/keyless');
const SEED = suiteSeed();
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 2);
const TEAMS = [{}, { team: null }, { team: 'red' }];
const { signal } = new AbortController();

it(`after any history documents without a key that wait for an owner are where the oracle says (seed ${SEED})`, async () => {
  for (let seed = SEED; seed < SEED + HISTORIES; seed++) {
    const random = new Random(seed);
    await using stage = await openStage({ faults: { replicaLagMs: 4, failAfterEffect: 0.01 }, seed }, KEYLESS);
    const put = async (
      container: string,
      doc: { readonly id: string; readonly [field: string]: unknown },
    ): Promise<void> => {
      // A lost answer: the write may have been made, and may be made again.
      while (
        !(await stage
          .container(container)
          .items.upsert(doc)
          .then(
            () => true,
            () => false,
          ))
      );
    };
    let app = await live(stage);
    for (let step = 0; step < 60; step++) {
      const kind = random.unit();
      const gone = random.chance(0.3) ? { gone: true } : {};
      const owner = `o${random.int(2)}`;
      if (kind < 0.3) await put('Owners', { id: owner, type: 'owner', name: `n${random.int(3)}`, ...gone });
      else if (kind < 0.8) {
        const item = { id: `x${random.int(2)}`, type: 'item', ownerId: owner, n: random.int(9), ...random.pick(TEAMS) };
        await put('Items', { ...item, ...gone });
      } else if (kind < 0.95) await app.drained(signal);
      else {
        await app.stop();
        app = await live(stage);
      }
    }
    await app.drained(signal);
    await app.stop();
    stage.emulator.faults({});
    const context = `MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1`;
    const screen = { progress: () => undefined };
    const { different, differences, parked } = await verify(stage.loaded, stage.services, {
      signal,
      screen,
      readLagMs: 0,
    });
    const letters = await new DeadLetters(stage.services.place.state).list();
    expect({ context, different, differences, parked, letters }).toEqual({
      context,
      different: 0,
      differences: [],
      parked: [],
      letters: [],
    });
  }
});
