// Random windows of several tenants, one of which has a hundred times as many changes as the others. TEN-F1: a part that
// is ready waits for one part of each other tenant at most; changes of one order value stay in order; nothing is lost.
// TEN-F14: tenants with few changes share parts, and wait for no flood.
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Change } from '../../../src/feed/reading/change.ts';
import { Window } from '../../../src/feed/tenure/window.ts';
import { Random } from '../../support/random.ts';
import { suiteSeed } from '../../support/seed.ts';

const SEED = suiteSeed();
/** Changes without a tenant have turns together. */
const NONE = 'none';
const HISTORIES = Number(process.env['MILLRACE_HISTORIES'] ?? 80);

it(`tenants get the places of a window in turns (seed ${SEED})`, async () => {
  const said: string[] = [];
  for (let seed = SEED; seed < SEED + HISTORIES; seed++)
    said.push(...(await history(seed)).map((text) => `${text} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`));
  expect(said).toEqual([]);
});

it(`tenants with few changes share parts, and wait for no flood (seed ${SEED})`, async () => {
  const said: string[] = [];
  for (let seed = SEED; seed < SEED + HISTORIES; seed++)
    said.push(...(await shared(seed)).map((text) => `${text} (MILLRACE_SEED=${seed} MILLRACE_HISTORIES=1)`));
  expect(said).toEqual([]);
});

/** A flood whose parts never end, and pages of many other tenants, some with a few changes of the flood. */
async function shared(seed: number): Promise<string[]> {
  const random = new Random(seed);
  const said: string[] = [];
  const running: (() => void)[] = [];
  const last = new Map<string, number>();
  const busy = new Set<string | undefined>();
  let [lsn, read, handled, parts] = [0, 0, 0, 0];
  const window = new Window({
    from: '"0"',
    orderOf: ({ tenant }) => tenant ?? '',
    together: 1 / 16,
    join: random.chance(0.5) ? { most: () => 50, charge: 5 } : undefined,
    concurrency: 2 + random.int(4),
    most: 1_000_000,
    automatic: true,
    handle: ({ changes }) => {
      parts += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      const tenants = new Set(changes.map(({ tenant }) => tenant));
      if (tenants.has('flood')) {
        if (tenants.size > 1) said.push('the flood shares a part while it has one of its own in hand');
        return promise;
      }
      for (const { tenant = '', version } of changes) {
        if ((last.get(tenant) ?? 0) >= version.lsn) said.push(`${tenant} went back to ${version.lsn}`);
        last.set(tenant, version.lsn);
      }
      handled += changes.length;
      for (const tenant of tenants) if (busy.has(tenant)) said.push(`${tenant} is handled twice at once`);
      for (const tenant of tenants) busy.add(tenant);
      running.push(() => {
        for (const tenant of tenants) busy.delete(tenant);
        resolve();
      });
      return promise;
    },
    onAdvance: () => undefined,
  });
  const offer = (count: number, floods: number): void => {
    const changes = Array.from({ length: count }, () => {
      const tenant = random.chance(floods) ? 'flood' : `t${random.int(30)}`;
      if (tenant !== 'flood') read += 1;
      return change((lsn += 1), tenant, tenant);
    });
    window.offer({ changes, next: `"${lsn}"`, charge: 1, readAt: 0 });
  };
  offer(10, 1);
  for (let page = 0; page < 20; page++) {
    const before = parts;
    offer(100, random.pick([0, 0.02, 0.5]));
    await turn();
    if (parts - before > 16) said.push(`a page has ${parts - before} parts`);
    if (random.chance(0.5)) running.splice(random.int(running.length || 1), 1)[0]?.();
  }
  for (await turn(); running.length > 0; await turn()) running.shift()?.();
  if (handled !== read) said.push(`${handled} of ${read} changes of the others were handled`);
  return said;
}

async function history(seed: number): Promise<string[]> {
  const random = new Random(seed);
  const concurrency = 1 + random.int(4);
  const tenants = ['flood', 'b', 'c', NONE].slice(0, 2 + random.int(3));
  const said: string[] = [];
  const running: (() => void)[] = [];
  /** The tenants of the parts that were begun, in order. */
  const begun: (string | undefined)[] = [];
  const last = new Map<string, number>();
  const read: Change[] = [];
  let handled = 0;
  const window = new Window({
    from: '"0"',
    orderOf: ({ key }) => key[0] as string,
    concurrency,
    join: random.chance(0.5) ? { most: () => 50, charge: 5 } : undefined,
    most: 1_000_000,
    automatic: true,
    handle: ({ changes }) => {
      begun.push(changes[0]?.tenant);
      for (const { key, version } of changes) {
        if ((last.get(key[0] as string) ?? 0) >= version.lsn)
          said.push(`${key[0] as string} went back to ${version.lsn}`);
        last.set(key[0] as string, version.lsn);
      }
      handled += changes.length;
      const { promise, resolve } = Promise.withResolvers<void>();
      running.push(resolve);
      return promise;
    },
    onAdvance: () => undefined,
  });
  for (let lsn = 0; read.length < 400;) {
    const changes = Array.from({ length: 1 + random.int(40) }, () => {
      const tenant = random.chance(0.99) ? 'flood' : random.pick(tenants);
      // The flood has so many keys that its lanes are no bound.
      const key = `${tenant}/${random.int(tenant === 'flood' ? 200 : 1)}`;
      return change((lsn += 1), key, tenant);
    });
    read.push(...changes);
    window.offer({ changes, next: `"${lsn}"`, charge: 1, readAt: 0 });
  }
  await turn();
  // The first part of every tenant is ready, and the places went to those that came first. As they end, each has its turn.
  for (let at = 0; running.length > 0; at++) {
    running.splice(random.int(running.length), 1)[0]?.();
    await turn();
    const others = new Set(read.map(({ tenant }) => tenant).filter((tenant) => tenant !== 'flood'));
    const had = new Set(begun);
    if (at === others.size && ![...others].every((tenant) => had.has(tenant)))
      said.push(`after ${at + 1} parts ended, only ${[...had].join(', ')} had a turn`);
  }
  if (handled !== read.length) said.push(`${handled} of ${read.length} changes were handled`);
  if (!window.isEmpty) said.push('the window is not empty');
  return said;
}

const change = (lsn: number, key: string, tenant: string): Change => ({
  container: 'c',
  type: 'item',
  key: [key],
  id: `${key}/${lsn}`,
  version: { epoch: 1, lsn, etag: `"${lsn}"` },
  at: 0,
  op: 'upsert',
  ...(tenant !== NONE && { tenant }),
});
