import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { expect, it } from 'vitest';
import { emit, type Events } from '../../../src/base/telemetry/diagnostics.ts';

it('a listener hears the event; one that has left or listens elsewhere does not', () => {
  const heard: unknown[] = [];
  const listen = (event: unknown): void => void heard.push(event);
  const event: Events['lease:acquired'] = { container: 'c', lease: 'l', host: 'h' };
  emit('lease:acquired', event);
  subscribe('millrace:lease:acquired', listen);
  emit('lease:acquired', event);
  emit('lease:released', { ...event, reason: 'stopped' });
  unsubscribe('millrace:lease:acquired', listen);
  emit('lease:acquired', event);
  expect(heard).toEqual([event]);
});
