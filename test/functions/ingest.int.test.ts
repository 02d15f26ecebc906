import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { DeadLetters } from '../../src/engine/dead-letters/dead-letters.ts';
import { type Stage, openStage } from '../support/stage.ts';
import { indexApp } from './host.ts';

const TELEMETRY = new URL('../../examples/telemetry', import.meta.url).pathname;
const reading = (device: string, minute: number, more: object = {}) => ({
  tenant: 'nordfrost',
  site: 'kiel',
  device,
  at: `2026-11-01T06:0${minute}:00Z`,
  celsius: 4.25,
  battery: 90,
  ...more,
});

let stage: Stage;
beforeEach(async () => (stage = await openStage({}, TELEMETRY)));
afterEach(async () => {
  vi.unstubAllEnvs();
  await stage[Symbol.asyncDispose]();
});

const open = () => indexApp({ ...stage.env, MILLRACE_PIPELINE: TELEMETRY });
const readings = async (): Promise<Record<string, unknown>[]> =>
  (await stage.container('Readings').items.readAll().fetchAll()).resources;

describe('the Event Hubs trigger of an ingest', () => {
  it('the Event Hubs trigger of an ingest is bound to the hub, as bytes, and never given up', async () => {
    const app = await open();
    const { bindings, retryOptions } = app.functions.find(({ name }) => name === 'ingest-readings-in') ?? {};
    expect(Object.values(bindings ?? {})).toMatchObject([
      {
        type: 'eventHubTrigger',
        connection: 'EVENTHUBS',
        eventHubName: 'device-readings',
        consumerGroup: '$Default',
        cardinality: 'many',
        dataType: 'binary',
      },
    ]);
    expect(retryOptions).toMatchObject({ maxRetryCount: -1 });
    await app.terminate();
  });

  it('the Event Hubs trigger of an ingest takes each event once, dates as they were sent, and parks nonsense with its offset', async () => {
    const app = await open();
    const bodies = [reading('room-1', 0), reading('room-1', 1), '{ no json', reading('room-2', 0, { celsius: 'n/a' })];
    await app.deliverEvents('ingest-readings-in', '3', bodies, 40);
    await app.deliverEvents('ingest-readings-in', '3', bodies, 40);
    expect((await readings()).map(({ id, deviceId, at }) => [id, deviceId, at])).toEqual(
      expect.arrayContaining([
        ['2026-11-01T06:00:00Z', 'room-1', '2026-11-01T06:00:00Z'],
        ['2026-11-01T06:01:00Z', 'room-1', '2026-11-01T06:01:00Z'],
      ]),
    );
    expect(await readings()).toHaveLength(2);
    const letters = await new DeadLetters(stage.services.place.state).list('readings-in@1');
    expect(letters.map(({ id, key, code, attempts, message }) => ({ id, key, code, attempts, message }))).toEqual(
      expect.arrayContaining([
        {
          id: '42',
          key: ['$Default', '3'],
          code: 'event-not-json',
          attempts: 1,
          message: expect.stringContaining('(partition 3, offset 4200)'),
        },
        expect.objectContaining({ id: '43', code: 'ingest-threw' }),
      ]),
    );
    await app.terminate();
  });

  it('the Event Hubs trigger of an ingest rejects while the database can’t be had, so that the host delivers the batch again', async () => {
    const app = await open();
    await app.deliverEvents('ingest-readings-in', '0', [reading('room-1', 0)]);
    await stage.container('Readings').delete();
    await expect(app.deliverEvents('ingest-readings-in', '0', [reading('room-1', 1)], 1)).rejects.toThrow(
      /Readings|404|exist/,
    );
    expect(await new DeadLetters(stage.services.place.state).list('readings-in@1')).toEqual([]);
    await app.terminate();
  });
});
