// What archiving costs in request units, by the embedded server's measure: the figures of docs/SPEC-archive.md.
import { expect, it } from 'vitest';
import { archiveAgain } from '../../src/archive/sweep/re-archive.ts';
import { sweepArchive } from '../../src/archive/sweep/sweep.ts';
import { Meter } from '../../src/cosmos/budget/charge-meter.ts';
import { archiveRunner } from '../../src/kinds/archive/archive-runner.ts';
import { liveHalf } from '../../src/kinds/archive/live-half.ts';
import { CosmosAccess } from '../../src/access/cosmos-access.ts';
import { UNFENCED } from '../kinds/history.ts';
import { MemoryBlobStore } from './memory-blob-store.ts';
import { NOW, OPEN, SIGNAL, SPEC, archiveStage, order } from './stage.ts';

const COUNT = 100;
const IDS = Array.from({ length: COUNT }, (_, n) => `o${n}`);

it.each([
  ['latest-version', { never: 1, sweep: 11, mark: 0, expiry: 0, archived: 12 }],
  ['all-versions', { never: 0, sweep: 17, mark: 11, expiry: 11, archived: 11, mayExpire: 11 }],
] as const)('archiving a document by %s costs the known RU', async (mode, figures) => {
  const store = new MemoryBlobStore();
  const stage = await archiveStage(store, mode);
  const found: Record<string, number> = {};
  const measure = async (what: string, work: (access: CosmosAccess) => Promise<unknown>): Promise<void> => {
    const meter = new Meter();
    await work(new CosmosAccess(stage.database, UNFENCED, meter));
    found[what] = Math.round(meter.charge / COUNT);
  };
  const again = archiveAgain(async () => store);
  const sift = liveHalf({ specs: [SPEC], stateContainer: 'millrace', defaultTtl: -1, again });
  const runner = archiveRunner(SPEC, { stateContainer: 'millrace' });
  let seen = 0;
  const host = async (access: CosmosAccess): Promise<void> => {
    const all = await stage.changes();
    const page = mode === 'all-versions' ? all.slice(seen) : all;
    seen = all.length;
    await runner.apply(await sift(page, access), access);
  };
  const write = async (more: object): Promise<void> => {
    for (const id of IDS) await stage.orders.items.upsert(order(id, { text: 'x'.repeat(900), ...more }));
  };
  await write({});
  await measure('never', host);
  await measure('sweep', (access) =>
    sweepArchive({ ...stage.archive, access: () => access }, { now: NOW, gate: async () => OPEN, signal: SIGNAL }),
  );
  await measure('mark', host);
  for (const id of IDS) stage.emulator.expire('d/Orders', id);
  await measure('expiry', host);
  await write({ cents: 2 });
  await measure('archived', host);
  if (mode === 'all-versions') {
    await write({ ttl: 1_000 });
    await measure('mayExpire', host);
  }
  expect(found).toEqual(figures);
});
