import { Rates } from '../../../src/feed/processor/rates.ts';
import { describe, expect, it, vi } from 'vitest';
import { MillraceError } from '../../../src/base/errors.ts';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { Views } from '../../../src/engine/views/views.ts';
import { recordVerified } from '../../../src/procedures/verify/verified.ts';
import { cli } from '../../cli/cli.ts';
import { useStage } from '../../support/each-stage.ts';
import type { Stage } from '../../support/stage.ts';
import { startStatusWriter } from '../../../src/host/run/status-writer.ts';
import { VERSIONS, live, writeAny } from '../../verbs/projections/versions.ts';
import { Random } from '../../support/random.ts';

let stage: Stage;
const { signal } = new AbortController();
useStage({ folder: VERSIONS }, (opened) => {
  stage = opened;
});

interface Finding {
  readonly check: string;
  readonly verdict: string;
  readonly what: string;
  readonly hint?: string;
}
async function doctor(): Promise<{ code: number; of: (check: string) => Finding[] }> {
  const { code, stdout } = await cli(['doctor', '--pipeline', VERSIONS, '--json']);
  const findings = JSON.parse(stdout) as Finding[];
  return { code, of: (check) => findings.filter((finding) => finding.check === check) };
}

describe('doctor', () => {
  it('`doctor` finds nothing wrong where a host runs, and looks at everything', async () => {
    const app = await live(stage);
    await writeAny(stage, new Random(1));
    await app.drained(signal);
    const { code, of } = await doctor();
    expect(code).toBe(0);
    for (const check of [
      'node',
      'pipeline',
      'settings',
      'account',
      'containers',
      'rights',
      'clock',
      'views',
      'leases',
      'dead letters',
    ])
      expect(of(check)).toContainEqual(expect.objectContaining({ check, verdict: 'good' }));
    await app.stop();
    expect((await doctor()).of('leases')).toContainEqual(expect.objectContaining({ verdict: 'doubtful' }));
  });

  it('`doctor` says what is missing and how to make it', async () => {
    await stage.container('Days').delete();
    await stage.services.global.leases.delete();
    const { code, of } = await doctor();
    expect(code).toBe(1);
    expect(of('containers').map(({ what }) => what)).toEqual(
      expect.arrayContaining([expect.stringContaining('Days'), expect.stringContaining('leases')]),
    );
    expect(of('containers')[0]?.hint).toContain('model apply');
    // Not once more for each part that would have looked into it.
    expect([...of('leases'), ...of('account').filter(({ verdict }) => verdict === 'bad')]).toEqual([]);
    const { stdout } = await cli(['doctor', '--pipeline', VERSIONS]);
    expect(stdout.match(/Run `millrace model apply`/g)).toHaveLength(1);
    await stage.services.place.state.delete();
    const { stdout: unprepared } = await cli(['doctor', '--pipeline', VERSIONS]);
    expect(unprepared).toMatch(/BAD {2}containers: to do: create container millrace,/);
    expect(unprepared).not.toMatch(/Owner resource|does not exist/);
  });

  it('`doctor` takes what is wrong with a version that is replaced for no problem', async () => {
    const app = await live(stage);
    await writeAny(stage, new Random(1));
    await app.drained(signal);
    await app.stop();
    const { state } = stage.services.place;
    const version = { epoch: 0, lsn: 1, etag: '1' };
    const change = { container: 'Orders', key: ['s1'], id: 'o', type: 'order', version, at: 0, op: 'upsert' as const };
    const error = new MillraceError('projection-threw', 'No');
    await new DeadLetters(state).park('days@1', [{ change, error }], new Date());
    const of = { at: new Date().toISOString(), actor: 'a', seconds: 1, sources: 1, compared: 1, different: 1 };
    const { name } = stage.loaded.pipeline;
    await recordVerified(state, name, 'whole', { ...of, differences: { 'days@1': 1 } });
    const both = async () => {
      const found = await doctor();
      return [...found.of('dead letters'), ...found.of('verification')];
    };
    expect(await both()).toMatchObject([{ verdict: 'bad' }, { verdict: 'bad' }]);
    await new Views(state, name).change('days', (view) => {
      const { current } = view;
      if (!current) throw new Error('Nothing is current');
      const ended = new Date().toISOString();
      const previous = { ...current, replacedAt: ended, readableUntil: ended };
      return { ...view, current: { ...current, version: 2 }, previous, promotions: 1 };
    });
    expect(await both()).toMatchObject([
      { verdict: 'doubtful', what: expect.stringContaining('1 change parked in versions that are replaced') as string },
      { verdict: 'doubtful', what: expect.stringContaining('in days@1, which is replaced') as string },
    ]);
  });

  it('`doctor` says of a host that waits for the first change what it waits for', async () => {
    const app = await live(stage);
    await app.drained(signal);
    expect((await doctor()).of('views')).toMatchObject([
      { verdict: 'doubtful', what: expect.stringContaining('no host has read a change') as string },
    ]);
    await app.stop();
  });

  it('`doctor` says what is wrong with the settings, and stops there', async () => {
    vi.stubEnv('COSMOS', 'AccountEndpoint=http://127.0.0.1:1/;AccountKey=bm9uZQ==;');
    const { code, of } = await doctor();
    expect(code).toBe(1);
    expect(of('account')).toMatchObject([{ verdict: 'bad', hint: expect.stringContaining('COSMOS') as string }]);
    vi.stubEnv('COSMOS', 'nonsense');
    expect((await doctor()).of('settings')).toMatchObject([{ verdict: 'bad' }]);
  });

  it('`doctor` and every verb say what an identity may not do, and which role it lacks', async () => {
    const denied = ['create', 'upsert', 'replace'].map((operation) => ({ operation, status: 403 }) as const);
    stage.emulator.faults({ rules: denied });
    for (const verb of [
      ['projections', 'pause', 'days'],
      ['projections', 'rebuild', 'summaries@2'],
      ['dead-letters', 'redrive'],
    ]) {
      const { code, stderr } = await cli([...verb, '--pipeline', VERSIONS]);
      expect({ verb, code }).toEqual({ verb, code: 2 });
      expect(stderr).toMatch(/This identity has no right to do that[^]*Cosmos DB Built-in Data Contributor/);
    }
    const { code, stdout } = await cli(['doctor', '--pipeline', VERSIONS]);
    expect(code).toBe(1);
    expect(stdout).toContain('may not write in millrace');
    stage.emulator.faults({ rules: [{ operation: 'create', status: 403, substatus: 5300 }] });
    expect((await cli(['projections', 'pause', 'days', '--pipeline', VERSIONS])).stderr).toMatch(
      /no right to do that[^]*No role for data has this right/,
    );
  });

  it('`doctor` names the sink that an identity may not write, and so does status, by what its host says', async () => {
    const app = await live(stage);
    await writeAny(stage, new Random(1));
    await app.drained(signal);
    stage.emulator.faults({
      rules: [{ container: 'Days', operation: ['create', 'upsert', 'replace', 'delete', 'batch'], status: 403 }],
    });
    const ROLE = 'role "Cosmos DB Built-in Data Contributor"';
    expect((await doctor()).of('rights')).toContainEqual({
      check: 'rights',
      verdict: 'bad',
      what: 'this identity may not write in Days; days@1 must',
      hint: expect.stringContaining(ROLE),
    });
    // A host that meets it says it in its next words.
    await stage
      .container('Orders')
      .items.create({ id: 'new', type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01', cents: 1 });
    await vi.waitFor(
      () =>
        expect(app.sources().flatMap(({ leases }) => leases.map(({ failure }) => failure))).toContainEqual(
          expect.objectContaining({ code: 'denied' }),
        ),
      30_000,
    );
    const { end } = startStatusWriter({
      services: stage.services,
      host: 'live',
      pipeline: 'versions',
      app,
      rates: new Rates(),
    });
    const said = new RegExp(
      `This identity may not (read|write) in container Days: Failed by rule with 403. Give the identity the ${ROLE}`,
    );
    await vi.waitFor(
      async () =>
        expect((await doctor()).of('hosts')).toMatchObject([
          {
            verdict: 'bad',
            what: expect.stringMatching(new RegExp(`^live can't continue with Orders: ${said.source}`)),
          },
        ]),
      30_000,
    );
    expect((await cli(['status', '--pipeline', VERSIONS])).stdout).toMatch(said);
    await end();
    stage.emulator.faults({});
    await app.drained(signal);
    await app.stop();
  });

  it('`doctor` names the source that an identity may not read', async () => {
    stage.emulator.faults({ rules: [{ container: 'Customers', operation: 'read', status: 403 }] });
    expect((await doctor()).of('rights')).toContainEqual(
      expect.objectContaining({
        verdict: 'bad',
        what: 'this identity may not read in Customers; summaries@1, summaries@2 must',
      }),
    );
  });

  it('`doctor` names the leases of a source that was deleted and created again', async () => {
    const { database } = stage.services.place;
    const { resource: orders } = await stage.container('Orders').read();
    const again = async (): Promise<void> => {
      const app = await live(stage);
      await app.drained(signal);
      await app.stop();
    };
    await again();
    await stage.container('Orders').delete();
    await database.containers.create({ id: 'Orders', partitionKey: orders!.partitionKey! });
    await again();
    expect((await doctor()).of('leases')).toContainEqual(
      expect.objectContaining({
        verdict: 'doubtful',
        what: expect.stringContaining('deleted and created again') as string,
        hint: expect.stringContaining('projections verify --repair') as string,
      }),
    );
  });

  it('`doctor` names what stands still because nothing writes what it reads any more, or will', async () => {
    const app = await live(stage);
    await writeAny(stage, new Random(1));
    await app.drained(signal);
    await app.stop();
    const views = new Views(stage.services.place.state, 'versions');
    await views.change('days', ({ current, ...view }) => ({
      ...view,
      current: { ...current!, reads: [{ container: 'Summaries', type: 'summary' }] },
    }));
    const replace = async (keptUntil: string) =>
      views.change('summaries', ({ current, ...view }) => ({
        ...view,
        current: { ...current!, version: 2, container: 'SummariesTwo' },
        previous: { ...current!, version: 1, container: 'Summaries', replacedAt: '', readableUntil: '', keptUntil },
      }));
    for (const [until, verdict, what] of [
      ['2020-01-01T00:00:00Z', 'bad', 'which summaries@1 wrote and no version writes any more: it stands still'],
      ['2100-01-01T00:00:00Z', 'doubtful', 'which summaries@1 alone writes, and hosts keep that until 2100'],
    ] as const) {
      await replace(until);
      expect((await doctor()).of('views')).toMatchObject([
        {
          verdict,
          what: expect.stringContaining(`days@1 reads Summaries/summary, ${what}`) as string,
          hint: expect.stringContaining('a version of days that reads SummariesTwo/summary') as string,
        },
      ]);
    }
  });

  it('`doctor` sees what somebody left half done', async () => {
    const app = await live(stage);
    await writeAny(stage, new Random(1));
    await app.drained(signal);
    await app.stop();
    const views = new Views(stage.services.place.state, 'versions');
    const staged = { version: 2, container: 'DaysTwo', type: 'day', reads: [], since: '2020-01-01T00:00:00.000Z' };
    await views.change('days', (view) => ({
      ...view,
      staged: { ...staged, phase: 'frozen', frozenUntil: '2020-01-01T00:00:00.000Z' },
    }));
    await views.change('summaries', (view) => ({
      ...view,
      paused: { since: 'yesterday', by: 'me', reason: '' },
      current: { ...staged, version: 9 },
    }));
    const { code, of } = await doctor();
    expect(code).toBe(1);
    expect(of('views').map(({ what }) => what)).toEqual([
      expect.stringContaining('summaries@9 is current, but the pipeline does not declare it'),
      'me paused summaries at yesterday',
      expect.stringContaining('a promotion of days@2 was interrupted'),
    ]);
    const { stdout } = await cli(['status', '--pipeline', VERSIONS]);
    expect(stdout).toContain('me paused summaries at yesterday');
    expect(stdout).toMatch(/days@1 +current/);
    expect(stdout).toMatch(/days@2 +frozen/);
  });
});
