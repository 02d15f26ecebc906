// Many documents into the archive, joined, verified and back: speed, RU, blobs, and what the process keeps of them.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { BlobServiceClient } from '@azure/storage-blob';
import { AzureBlobStore } from '../src/archive/blobs/azure-blob-store.ts';
import { compactArchive } from '../src/archive/compact.ts';
import { openArchive } from '../src/archive/open.ts';
import { restoreArchive } from '../src/archive/restore.ts';
import { sweepArchive } from '../src/archive/sweep/sweep.ts';
import type { Archive } from '../src/archive/types.ts';
import { listArchive, verifyArchive } from '../src/archive/verify.ts';
import { Meter } from '../src/cosmos/budget/charge-meter.ts';
import { startAzurite } from '../test/support/azurite.ts';
import { COLD, LOADED } from './b13-archive.ts';
import { type Benchmark, type Figure, atMost, plain, seconds, sized } from './support/measure.ts';
import { fill, openStage } from './support/stage.ts';
import { things } from './support/things.ts';

const DOCUMENTS = Number(process.env['MILLRACE_BENCH_DOCUMENTS'] ?? sized(50_000, 500));
const MEGABYTE = 1024 * 1024;
const PROGRESS_MS = 15_000;
const { signal } = new AbortController();
const gate = async () => ({ acknowledged: () => Infinity, parked: () => false, waits: () => false });

export const b32: Benchmark = {
  id: 'B32',
  title: `${DOCUMENTS} documents archived, compacted, verified and restored`,
  run: async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    // Server and storage keep everything in memory, so no disk is filled, and nothing is left when the processes end.
    await using stage = await openStage({ heapMb: 4_096 + Math.ceil(DOCUMENTS / 100) });
    const azurite = await startAzurite();
    try {
      const blobs = BlobServiceClient.fromConnectionString(azurite.connectionString).getContainerClient('archive');
      await blobs.create();
      const source = await stage.container('Source', '/key');
      const state = await stage.container('millrace', '/pk');
      const meter = new Meter();
      const store = new AzureBlobStore(blobs);
      const { database } = stage;
      const opened = await openArchive(COLD, LOADED.pipeline, LOADED.model, { database, state, store, meter });
      const archive = { ...opened, store };
      const figures: Figure[] = [];
      /** What a phase costs; `tell` says after how many documents the heap is looked at, at a fifth and at the end. */
      const phase = async (
        name: string,
        work: (done: (documents: number) => void) => Promise<number>,
      ): Promise<void> => {
        const [charge, requests, heaps]: [number, number, number[]] = [meter.charge, meter.requests, []];
        const [own, server] = [process.cpuUsage(), await stage.usage()];
        let [resident, so] = [0, 0];
        const note = (): void => {
          collect();
          heaps.push((process.memoryUsage().heapUsed + process.memoryUsage().external) / MEGABYTE);
        };
        const began = performance.now();
        const timer = setInterval(() => (resident = Math.max(resident, process.memoryUsage().rss / MEGABYTE)), 100);
        const speak = async (): Promise<void> => {
          const { rss } = await stage.usage();
          const s = (performance.now() - began) / 1_000;
          const megabytes = [process.memoryUsage().rss, rss].map((bytes) => Math.round(bytes / MEGABYTE));
          console.log(
            `  … ${name}: ${so} of ${DOCUMENTS} in ${s.toFixed(0)} s; resident: ${megabytes[0]} MB here, ${megabytes[1]} MB the server`,
          );
        };
        const speaker = setInterval(() => void speak(), PROGRESS_MS);
        let documents = 0;
        const time = await seconds(async () => {
          documents = await work((done) => {
            so = Math.round(done);
            if (heaps.length === 0 && done >= DOCUMENTS / 5) note();
          });
        });
        clearInterval(speaker);
        clearInterval(timer);
        const [spent, now] = [process.cpuUsage(own), await stage.usage()];
        note();
        figures.push(plain(`${name}: documents a second`, documents / time, ''));
        if (meter.requests > requests)
          figures.push(
            plain(`${name}: RU a document`, (meter.charge - charge) / documents, 'RU'),
            plain(`${name}: requests to Cosmos DB a document`, (meter.requests - requests) / documents, ''),
          );
        figures.push(
          plain(`${name}: processor time a document`, (spent.user + spent.system) / 1_000 / documents, 'ms'),
          plain(`${name}: the same, of the server`, (now.cpu - server.cpu) / 1_000 / documents, 'ms'),
          plain(`${name}: most resident memory`, resident, 'MB'),
        );
        const [early, late] = heaps;
        if (early !== undefined && late !== undefined)
          figures.push(atMost(`${name}: memory kept at the end − at a fifth`, late - early, 40, 'MB'));
      };
      await phase('fill', async (done) => {
        for (let from = 0; from < DOCUMENTS; from += 10_000) {
          await fill(source, things(from, Math.min(10_000, DOCUMENTS - from)), ({ key }) => String(key));
          done(from);
        }
        return DOCUMENTS;
      });
      await phase('sweep', async (done) => {
        const { removed } = await sweepArchive(archive, {
          now: Date.now(),
          gate,
          signal,
          progress: (so) => done(so.removed),
        });
        return whole(removed);
      });
      const before = await blobsOf(archive, signal);
      await phase('compact', async (done) => {
        const { faults } = await compactArchive(archive, {
          signal,
          grace: async () => undefined,
          progress: ({ joined }) => done((joined / before) * DOCUMENTS),
        });
        if (faults.length > 0) throw new Error(faults[0]?.what);
        return DOCUMENTS;
      });
      const after = await blobsOf(archive, signal);
      await phase('verify', async (done) => {
        const progress = (verified: number): void => done((verified / after) * DOCUMENTS);
        const { faults, archived } = await verifyArchive(archive, { signal, progress });
        if (faults.length > 0) throw new Error(faults[0]?.what);
        return whole(archived);
      });
      await phase('restore', async (done) => {
        const { restored } = await restoreArchive(archive, {}, { signal, progress: (so) => done(so.restored) });
        return whole(restored);
      });
      const million = 1_000_000 / DOCUMENTS;
      return [
        ...figures,
        plain('blobs a million documents, swept', before * million, ''),
        plain('blobs a million documents, compacted', after * million, ''),
      ];
    } finally {
      await azurite.close();
    }
  },
};

function whole(documents: number): number {
  if (documents !== DOCUMENTS) throw new Error(`${documents} of ${DOCUMENTS} documents`);
  return documents;
}

async function blobsOf(archive: Archive, stopped: AbortSignal): Promise<number> {
  let blobs = 0;
  for await (const listed of listArchive(archive, stopped))
    blobs += 'fault' in listed ? 0 : listed.manifest.blobs.length;
  return blobs;
}
