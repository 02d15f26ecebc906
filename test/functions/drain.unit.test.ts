import { expect, it } from 'vitest';
import { Drain } from '../../src/host/functions/drain.ts';

it('a drain lets what is in hand end, and takes nothing more', async () => {
  const drain = new Drain();
  const { promise, resolve } = Promise.withResolvers<string>();
  const running = drain.run(() => promise);
  let ended = false;
  const end = drain.end().then(() => (ended = true));
  await expect(drain.run(async () => 'late')).rejects.toMatchObject({ code: 'shutting-down', retryable: true });
  expect(ended).toBe(false);
  resolve('done');
  expect(await running).toBe('done');
  await end;
});

it('a drain aborts what takes longer than the host would wait', async () => {
  const drain = new Drain(1);
  const running = drain.run(
    (signal) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  );
  running.catch(() => undefined);
  await drain.end();
  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
});

it('a drain waits for a failing one too', async () => {
  const drain = new Drain();
  const { promise, reject } = Promise.withResolvers<never>();
  const running = drain.run(() => promise);
  const end = drain.end();
  reject(new Error('broken'));
  await expect(running).rejects.toThrow('broken');
  await end;
});
