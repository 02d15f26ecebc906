// Hosts of a pipeline over shards that are killed, against what the application wrote.
import { it } from 'vitest';
import { compose } from '../../src/runtime/hosts/processor-host.ts';
import { fast } from '../verbs/projections/versions.ts';
import { type Millrace, millrace } from '../support/process.ts';
import { SPREAD } from '../support/spread-stage.ts';
import { assertExact, given } from './spread-world.ts';

const { signal } = new AbortController();
const KILLS = Number(process.env['MILLRACE_HISTORIES'] ?? 2);

it('a host of all shards counts each document once after hosts were killed at random', async (context) => {
  const { stage, application } = await given(context);
  const stopping = new AbortController();
  const writing = (async () => {
    for (let n = 0; !stopping.signal.aborted; n++) {
      const at = n % 3;
      const more = {
        placedAt: `2026-01-0${1 + (n % 4)}T10:00:00.000Z`,
        ...(n % 7 === 0 && { cancelled: true as const }),
      };
      await application.order(`s${at}`, ['north', 'west', 'east'][at] ?? '', `o${n % 20}`, n % 100, more);
    }
  })();
  const host = (n: number): Millrace =>
    millrace(['run', '--host', `host-${n % 2}`, '--poll-delay', '20', '--lease-expiration', '1000'], {
      env: { ...stage.env, MILLRACE_PIPELINE: SPREAD },
    });
  for (let n = 0; n < KILLS; n++) {
    const running = host(n);
    await running.until(/[1-9]\d* writes/);
    running.kill('SIGKILL');
    await running.ended;
  }
  stopping.abort();
  await writing;
  const app = await compose({
    ...stage,
    ...fast,
    host: 'last',
    timings: { ...fast.timings, expirationMs: 1_000, renewMs: 200 },
  });
  context.onTestFinished(() => app.stop());
  await app.start();
  await app.drained(signal);
  await assertExact(stage, application);
});
