import { openServices } from '../../../src/runtime/services.ts';
import { startProxy } from '../../support/proxy.ts';
import type { Stage } from '../../support/stage.ts';
import type { Settings } from '../../../src/base/settings.ts';
import type { Emulator } from '../../../src/emulator/index.ts';
import type { Services } from '../../../src/runtime/workspace.ts';

interface Mortal {
  readonly emulator: Emulator;
  readonly settings: Settings;
  readonly services: Services;
}

/** `alive`: false from the death on, for what doesn't go through the account's address. */
export type Work<S = Stage> = (stage: S, signal: AbortSignal, alive: () => boolean) => Promise<unknown>;

/**
 * Runs some work as a process of its own would, and cuts it off from everything after so many pieces sent: nothing that
 * it does from then on, tidying up included, reaches anybody. False: it was done before.
 */
export async function dies<S extends Mortal>(stage: S, work: Work<S>, after: number): Promise<boolean> {
  let sent = 0;
  const { promise: dead, resolve: die } = Promise.withResolvers<true>();
  const port = Number(new URL(stage.emulator.endpoint).port);
  const proxy = await startProxy(port, () => {
    sent += 1;
    if (sent > after) die(true);
    return sent <= after;
  });
  const account = { kind: 'key', endpoint: `http://127.0.0.1:${proxy.port}/`, key: stage.emulator.key } as const;
  const { shardMaps } = stage.settings;
  const settings = {
    ...stage.settings,
    cosmos: account,
    leases: { ...stage.settings.leases, account },
    ...(shardMaps && { shardMaps: { ...shardMaps, endpoint: account.endpoint } }),
  };
  const services = await openServices(settings).catch(() => undefined);
  if (!services) {
    await proxy[Symbol.asyncDispose]();
    return true;
  }
  // Cut off first and stopped afterwards, so that what it does at its end is heard by no one.
  const ending = new AbortController();
  const done = work({ ...stage, settings, services }, ending.signal, () => sent <= after).then(
    () => false as const,
    (error: unknown) => {
      if (sent <= after) throw error;
      return true as const;
    },
  );
  // What is left of it fails on its own, unheard.
  done.catch(() => undefined);
  const died = await Promise.race([done, dead]);
  await proxy[Symbol.asyncDispose]();
  ending.abort();
  services.close();
  return died;
}
