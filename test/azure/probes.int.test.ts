// The probes are tried on the embedded server, which does what the assumptions say: each must hold there, and the same
// probe must say so where it doesn't.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EMULATOR_KEY } from '../../src/emulator/index.ts';
import { openStage } from '../support/stage.ts';
import { type Bench, type Probe, same } from './probe.ts';
import { PROBES } from './probes/index.ts';
import { runProbes } from './run-probes.ts';
import { type Target, openEmbedded, openEndpoint } from './targets.ts';

const ended = new AbortController();
const { signal } = ended;
let target: Target;
beforeAll(async () => {
  target = await openEmbedded(signal);
});
afterAll(() => target[Symbol.asyncDispose]());

const ask = async (probe: Probe, bench: Bench = target) => (await runProbes([probe], bench, () => {}))[0];

describe('on the embedded server', () => {
  it.each(
    PROBES.filter(({ number }) => number !== 'ASM-F17').map((probe) => [probe.number, probe.asks, probe] as const),
  )('%s holds: %s', async (number, asks, probe) => {
    expect(await ask(probe)).toEqual({ number, asks, verdict: 'holds' });
  });

  it('what needs a resource manager is not probed, and says why', async () => {
    const what = PROBES.find(({ number }) => number === 'ASM-F17')!;
    expect(await ask(what)).toMatchObject({ verdict: 'not probed', why: 'There is no resource manager here.' });
  });
});

describe('verdicts', () => {
  const probe = (run: Probe['run']): Probe => ({ number: 'none', asks: 'it', run });

  it('verdicts tell what was seen instead from what could not be asked', async () => {
    const wrong = probe(async () => same([1], [2], 'the list'));
    expect(await ask(wrong)).toMatchObject({ verdict: 'does not hold', why: 'the list: [1] instead of [2]' });
    const broken = probe(() => Promise.reject(new TypeError('nothing there\nat some line')));
    expect(await ask(broken)).toMatchObject({ verdict: 'not probed', why: 'It failed: nothing there' });
  });

  it.each(['ASM-E17', 'ASM-E32', 'ASM-E33', 'ASM-E39'])(
    '%s is refuted by a service that ignores how a container is defined',
    async (number) => {
      const careless: Bench = { ...target, container: () => target.container() };
      const refuted = await ask(
        PROBES.find((each) => each.number === number)!,
        careless,
      );
      expect(refuted).toMatchObject({ verdict: 'does not hold', why: expect.stringContaining('instead of') });
    },
  );
});

it('an endpoint is asked with its key, without roles, and its database is deleted', async () => {
  await using stage = await openStage();
  {
    await using there = await openEndpoint(stage.emulator.endpoint, EMULATOR_KEY, signal);
    expect(
      await ask(
        PROBES.find(({ number }) => number === 'ASM-A5')!,
        there,
      ),
    ).toMatchObject({ verdict: 'holds' });
    expect(
      await ask(
        PROBES.find(({ number }) => number === 'ASM-E49')!,
        there,
      ),
    ).toMatchObject({ verdict: 'not probed' });
  }
  const { resources } = await stage.services.place.database.client.databases.readAll().fetchAll();
  expect(resources.map(({ id }) => id)).toEqual(['shop']);
});
