// What the journal keeps of runs. JRN-R1 to JRN-R3.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchAll } from '../../../src/cosmos/fetch-all.ts';
import { type Run, Running, audited, readRunning, whileNoted } from '../../../src/procedures/journal/runs.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const { signal } = new AbortController();
const NOTED = { verb: 'tenants erase', arguments: {}, actor: 'Ada' };

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const state = () => stage.services.global.state;
const context = (running?: Running) => ({
  workspace: { services: () => Promise.resolve(stage.services) },
  actor: 'Ada',
  ...(running && { running }),
});
async function runs(verb: string): Promise<Run[]> {
  const found: Run[] = [];
  const query = { query: 'SELECT * FROM c WHERE c.verb = @verb', parameters: [{ name: '@verb', value: verb }] };
  for await (const one of fetchAll<Run>(state(), query, signal, { partitionKey: 'runs' })) found.push(one);
  return found;
}

describe('a run', () => {
  it('a run that is noted and audited is one document, which stays with the audited arguments', async () => {
    await whileNoted(state(), NOTED, (running) =>
      audited(context(running), NOTED.verb, { digest: 'd' }, async () => {
        expect(await readRunning(state(), signal)).toMatchObject([{ verb: NOTED.verb, arguments: { digest: 'd' } }]);
        return 'all';
      }),
    );
    expect(await readRunning(state(), signal)).toEqual([]);
    const kept = { kept: true, arguments: { digest: 'd' }, outcome: 'done', result: 'all' };
    expect(await runs(NOTED.verb)).toMatchObject([kept]);
  });

  it('a run that audits twice leaves two records', async () => {
    await whileNoted(state(), { ...NOTED, verb: 'twice' }, async (running) => {
      for (const n of [1, 2]) await audited(context(running), 'twice', { n }, () => Promise.resolve());
    });
    const numbers = (await runs('twice')).map(({ arguments: { n } }) => n);
    expect(new Set(numbers)).toEqual(new Set([1, 2]));
  });

  it('a run that is only noted leaves nothing', async () => {
    await whileNoted(state(), { ...NOTED, verb: 'archive sweep' }, () => Promise.resolve());
    expect(await runs('archive sweep')).toEqual([]);
  });

  it('a run keeps the name that an erasure gave its arguments meanwhile', async () => {
    await audited(context(), 'pause', { tenant: 'gone' }, async () => {
      const [run] = await runs('pause');
      await state().items.upsert({ ...run, arguments: { tenant: 'erased' } });
    });
    expect(await runs('pause')).toMatchObject([{ arguments: { tenant: 'erased' }, outcome: 'done' }]);
  });

  it('a run that has ended is not changed by what lands later', async () => {
    const running = new Running(state(), { ...NOTED, verb: 'late' });
    await running.write({ kept: true, outcome: 'failed' });
    await running.write({ aliveAt: new Date().toISOString(), outcome: 'done' });
    expect(await runs('late')).toMatchObject([{ outcome: 'failed' }]);
    expect(await runs('late')).not.toMatchObject([{ aliveAt: expect.any(String) as string }]);
  });
});
