// Two days of 36 devices, as they send them: in their own order, one in fifty twice, one in a thousand nonsense.
import type { EventStep, LoadOptions } from 'millrace';
import type { Message } from './message.ts';

const HUB = 'device-readings';
const START = Date.UTC(2026, 10, 1);
const READINGS = 2 * 144;
const EVERY_MS = 600_000;

const SITES = [
  ['nordfrost', 'kiel'],
  ['nordfrost', 'bremen'],
  ['alpin', 'chur'],
] as const;

/** The archive's rules look at the evening of the second day. */
export const now = '2026-11-03T00:00:00Z';

export async function* load({ seed }: LoadOptions): AsyncGenerator<EventStep, void, undefined> {
  const random = dice(seed);
  const devices = SITES.flatMap(([tenant, site]) =>
    Array.from({ length: 12 }, (_, n) => ({ tenant, site, device: `room-${n + 1}`, warmth: random() * 9 - 2 })),
  );
  for (let n = 0; n < READINGS; n++) {
    const at = new Date(START + n * EVERY_MS).toISOString().replace('.000Z', 'Z');
    for (const { tenant, site, device, warmth } of devices) {
      // In quarters of a degree, so that sums are exact.
      const celsius = Math.round((warmth + random() * 4) * 4) / 4;
      const message: Message = { tenant, site, device, at, celsius, battery: 100 - Math.floor(n / 12) };
      const event = sent(message);
      yield random() < 0.001 ? { ...event, send: { ...event.send, body: { ...message, celsius: 'n/a' } } } : event;
      if (random() < 0.02) yield event;
    }
  }
}

const sent = (body: Message): EventStep => ({
  hub: HUB,
  send: { body, partitionKey: `${body.tenant}/${body.site}/${body.device}`, messageId: `${body.device}@${body.at}` },
});

/** Mulberry32: small, even enough, and the same everywhere. */
function dice(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
