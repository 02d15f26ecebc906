import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Step } from '../../../src/pipeline/workload.ts';
import type { Input } from '../../../src/host/dev/input.ts';
import { loadDocuments } from '../../../src/host/dev/load-documents.ts';
import { visible } from '../../../src/pipeline/oracle/recompute.ts';
import { type Stage, openStage } from '../../support/stage.ts';

const SEED = 20_261;
let stage: Stage;
let directory: string;
beforeEach(async () => {
  stage = await openStage({ seed: SEED, faults: { failAfterEffect: 0.05, failBefore: 0.05, throttle: 0.05 } });
  directory = mkdtempSync(join(tmpdir(), 'millrace-loader-'));
});
afterEach(async () => {
  await stage[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** Upserts, deletions and rebirths of few documents, so that order matters; every 50th is near the largest there may be. */
function* steps(): Generator<Step> {
  for (let n = 0; n < 2_500; n++) {
    const id = `o${(n * 7) % 90}`;
    const storeId = `s${n % 3}`;
    if (n % 11 === 0) yield { container: 'Orders', delete: { key: [storeId], id } };
    else
      yield {
        container: 'Orders',
        upsert: { id, storeId, n, type: 'order', ...(n % 500 === 1 ? { note: 'x'.repeat(1_900_000) } : {}) },
      };
  }
}

const input = (): Input => ({
  name: 'test',
  identity: { test: 1 },
  async *items() {
    let at = 0;
    for (const step of steps()) yield { at: ++at, text: () => JSON.stringify(step), step };
  },
});

const options = (signal: AbortSignal) => ({
  database: stage.services.place.database,
  state: stage.services.place.state,
  containers: new Map([['Orders', [['storeId']]]]),
  input: input(),
  directory,
  signal,
});

async function stored(): Promise<unknown[]> {
  const { resources } = await stage
    .container('Orders')
    .items.query<Record<string, unknown>>('SELECT * FROM c')
    .fetchAll();
  return resources
    .map(visible)
    .map((document) => [document['storeId'], document['id'], document['n']].join('/'))
    .toSorted();
}

function expected(): unknown[] {
  const last = new Map<string, unknown>();
  for (const step of steps()) {
    if ('delete' in step) last.delete(`${step.delete.key[0] as string}/${step.delete.id}`);
    else last.set(`${String(step.upsert['storeId'])}/${step.upsert.id}`, step.upsert['n']);
  }
  return [...last].map(([name, n]) => `${name}/${String(n)}`).toSorted();
}

it('the loader leaves each document as its last step left it, whatever the server answers', async () => {
  stage.emulator.faults({ failAfterEffect: 0.05, failBefore: 0.05, throttle: 0.05 });
  expect(await loadDocuments(options(new AbortController().signal))).toMatchObject({
    at: 2_500,
    loaded: 2_500,
    rejected: 0,
    skipped: 0,
  });
  stage.emulator.faults({});
  expect(await stored()).toEqual(expected());
});

it('the loader goes on after what is durable when it was interrupted, and loads nothing again at the end', async () => {
  const interrupt = new AbortController();
  const seen: number[] = [];
  await expect(
    loadDocuments({
      ...options(interrupt.signal),
      onProgress: ({ at }) => (seen.push(at), interrupt.abort(new Error('interrupted'))),
    }),
  ).rejects.toThrow('interrupted');
  expect(seen).toHaveLength(1);
  const { skipped } = await loadDocuments(options(new AbortController().signal));
  expect(skipped).toBe(seen[0]);
  stage.emulator.faults({});
  expect(await stored()).toEqual(expected());
  expect(await loadDocuments(options(new AbortController().signal))).toMatchObject({ skipped: 2_500, loaded: 2_500 });
});

it('the loader keeps to its rate', async () => {
  const slept: number[] = [];
  let time = 0;
  const clock = {
    now: () => time,
    monotonic: () => time,
    sleep: async (ms: number) => {
      slept.push(ms);
      time += ms;
    },
  };
  await loadDocuments({ ...options(new AbortController().signal), rate: 500, clock });
  expect(time).toBeGreaterThan(4_500);
  expect(time).toBeLessThanOrEqual(5_000);
});
