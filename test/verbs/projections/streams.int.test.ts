import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { DeadLetters } from '../../../src/engine/dead-letters/dead-letters.ts';
import { MillraceError, messageOf } from '../../../src/base/errors.ts';
import { ViewControl } from '../../../src/engine/views/view-control.ts';
import { Views } from '../../../src/engine/views/views.ts';
import type { Page } from '../../../src/feed/reading/change.ts';
import type { Fence } from '../../../src/feed/tenure/fence.ts';
import { cli } from '../../cli/cli.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const TELEMETRY = join(import.meta.dirname, '../../../examples/telemetry');
let stage: Stage;
beforeAll(async () => {
  stage = await openStage({}, TELEMETRY);
  for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  const change = {
    container: 'device-readings',
    key: ['$Default', '0'],
    id: '7',
    type: 'reading',
    version: { epoch: 0, lsn: 7, etag: '7' },
    at: 0,
    op: 'upsert' as const,
    doc: { body: 1 },
  };
  const error = new MillraceError('ingest-threw', 'No');
  await new DeadLetters(stage.services.place.state).park('readings-in@1', [{ change, error }], new Date(), {
    whole: true,
  });
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

const json = async (...args: string[]): Promise<unknown> => {
  const { code, stdout, stderr } = await cli([...args, '--pipeline', TELEMETRY, '--json']);
  expect(stderr).toBe('');
  expect(code).toBe(0);
  return JSON.parse(stdout);
};
const text = async (...args: string[]): Promise<string> => (await cli([...args, '--pipeline', TELEMETRY])).stdout;

it('`projections list` lists what goes to event hubs and what comes from them', async () => {
  expect(await json('projections', 'list')).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        id: 'hours-out@1',
        kind: 'publish',
        into: 'event hub device-hours',
        state: 'unknown',
      }),
      expect.objectContaining({ id: 'readings-in@1', kind: 'ingest', into: 'Readings/reading', onDelete: null }),
    ]),
  );
  expect(await text('projections', 'list')).toMatch(/\n1 projection, 1 to event hubs, 1 from event hubs\n$/);
});

it('`projections show` shows one of them, with what is parked', async () => {
  expect(await json('projections', 'show', 'readings-in')).toMatchObject({
    kind: 'ingest',
    reads: ['event hub device-readings ($Default)'],
    declared: [{ id: 'readings-in@1', into: 'Readings/reading', parked: 1 }],
  });
  expect(await text('projections', 'show', 'hours-out@1')).toMatch(/^hours-out: publish of DeviceHours\/deviceHour\n/);
  expect((await cli(['projections', 'show', 'hours-uot', '--pipeline', TELEMETRY])).stderr).toMatch(
    /did you mean hours-out/,
  );
});

it('`projections drop` of what has no version to drop names the verb that lists the projections', async () => {
  expect(await cli(['projections', 'drop', 'hours-out', '--yes', '--pipeline', TELEMETRY])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/no replaced version[^]*`millrace projections list`/),
  });
});

describe('pausing', () => {
  const page = (container: string, type: string): Page => ({
    changes: [
      { container, type, key: ['k'], id: '1', version: { epoch: 0, lsn: 1, etag: 'e' }, at: 0, op: 'upsert' },
    ] as Page['changes'],
    charge: 0,
    readAt: 0,
  });
  /** What a host says that is given a page, or events, and whose patience is used up at once. */
  const asked = async (ask: (control: ViewControl, fence: Fence) => Promise<unknown>): Promise<string> => {
    const { pipeline } = stage.loaded;
    let now = 0;
    const clock = { now: Date.now, monotonic: () => (now += 30_000), sleep: async () => undefined };
    const control = new ViewControl(new Views(stage.services.place.state, pipeline.name), pipeline, {
      clock,
    });
    const fence: Fence = { kind: 'host', tenure: {}, signal: new AbortController().signal, assert: () => undefined };
    return ask(control, fence).then(
      () => 'goes on',
      (error: unknown) => messageOf(error),
    );
  };
  const hours = () => asked((control, fence) => control.admit(page('DeviceHours', 'deviceHour'), fence));
  const readings = () => asked((control, fence) => control.admit(page('Readings', 'reading'), fence));
  const events = () => asked((control, fence) => control.admitEvents('readings-in', fence));

  it('a pause holds the changes that a publish reads, and no others, until it is resumed', async () => {
    expect(await text('projections', 'pause', 'hours-out', '--reason', 'the hub is full')).toMatch(
      /^hours-out is paused: hosts stop within seconds/,
    );
    expect(await hours()).toMatch(/^hours-out is paused since .*: the hub is full$/);
    expect(await readings()).toBe('goes on');
    expect(await events()).toBe('goes on');
    expect(await text('projections', 'show', 'hours-out')).toMatch(/paused by .* at .*: the hub is full/);
    expect((await text('projections', 'list')).match(/^\S+(?=.* current, paused$)/gm)).toEqual(['hours-out@1']);
    expect(await json('projections', 'list')).toContainEqual(
      expect.objectContaining({ id: 'hours-out@1', state: 'current', paused: true }),
    );
    expect((await cli(['projections', 'pause', 'hours-out', '--pipeline', TELEMETRY])).stderr).toMatch(
      /already|is paused since/,
    );
    expect(await text('projections', 'resume', 'hours-out')).toMatch(/^hours-out is resumed\. It was paused at/);
    expect(await hours()).toBe('goes on');
  });

  it('a pause holds the events of an ingest, and no feed', async () => {
    expect(await text('projections', 'pause', 'readings-in@1', '--dry-run')).toMatch(
      /stop reading events of device-readings/,
    );
    expect(await events()).toBe('goes on');
    await json('projections', 'pause', 'readings-in');
    expect(await events()).toMatch(/^readings-in is paused since/);
    expect(await readings()).toBe('goes on');
    await json('projections', 'resume', 'readings-in');
    expect(await events()).toBe('goes on');
  });

  it('a pause knows who waits with it, and what there is', async () => {
    expect(await json('projections', 'pause', 'readings-cold')).toMatchObject({ alsoWaiting: ['device-hours'] });
    expect(await readings()).toMatch(/^readings-cold is paused/);
    await json('projections', 'resume', 'readings-cold');
    expect((await cli(['projections', 'pause', 'readings-inn', '--pipeline', TELEMETRY])).stderr).toMatch(
      /did you mean readings-in/,
    );
  });
});

it('the status has what goes to event hubs and what comes from them', async () => {
  expect(await json('status')).toMatchObject({
    projections: expect.arrayContaining([
      expect.objectContaining({ id: 'hours-out@1', state: 'current', parked: 0 }),
      expect.objectContaining({ id: 'readings-in@1', state: 'current', parked: 1 }),
    ]),
  });
});
