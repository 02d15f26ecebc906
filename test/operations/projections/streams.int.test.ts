import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { DeadLetters } from '../../../src/engine/dead-letters.ts';
import { MillraceError } from '../../../src/base/errors.ts';
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
  await new DeadLetters(stage.services.state).park('readings-in@1', [{ change, error }], new Date(), { whole: true });
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

it('lists what goes to event hubs and what comes from them', async () => {
  expect(await json('projections', 'list')).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        id: 'hours-out@1',
        kind: 'publish',
        into: 'event hub device-hours',
        state: 'declared',
      }),
      expect.objectContaining({ id: 'readings-in@1', kind: 'ingest', into: 'Readings/reading', onDelete: null }),
    ]),
  );
  expect(await text('projections', 'list')).toMatch(/\n1 projection, 1 to event hubs, 1 from event hubs\n$/);
});

it('shows one of them, with what is parked', async () => {
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

it('has them in the status', async () => {
  expect(await json('status')).toMatchObject({
    projections: expect.arrayContaining([
      expect.objectContaining({ id: 'hours-out@1', state: 'declared', parked: 0 }),
      expect.objectContaining({ id: 'readings-in@1', state: 'declared', parked: 1 }),
    ]),
  });
});
