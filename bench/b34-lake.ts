import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { lakeColumns } from '../src/archive/lake-columns.ts';
import { parquetPieces } from '../src/archive/parquet.ts';
import type { ArchivedDocument } from '../src/archive/types.ts';
import { type Benchmark, type Figure, atMost, plain, seconds } from './support/measure.ts';

const SIZES = (process.env['MILLRACE_BENCH_STORED'] ?? '100000,1000000').split(',').map(Number);

const EXAMPLE = {
  id: 'order-1',
  type: 'order',
  storeId: 's1',
  customerId: 'c1',
  placedAt: '2026-01-01T10:00:00.000Z',
  cents: 1,
  paid: true,
  lines: [{ sku: 'sku-1', count: 1 }],
};
const MODEL = {
  title: 'bench',
  file: 'bench.md',
  findings: [],
  containers: [
    {
      name: 'Orders',
      partitionKey: ['/storeId'],
      types: [{ name: 'order', examples: [EXAMPLE], at: { file: 'bench.md', line: 1 } }],
      at: { file: 'bench.md', line: 1 },
      places: {},
    },
  ],
};

const documentOf = (n: number): ArchivedDocument => ({
  container: 'Orders',
  key: ['s1'],
  id: `order-${n}`,
  type: 'order',
  version: { epoch: 1, lsn: n, etag: `${n}` },
  at: 1_700_000_000_000 + n,
  doc: {
    ...EXAMPLE,
    id: `order-${n}`,
    customerId: `c${n % 9_973}`,
    placedAt: new Date(1_700_000_000_000 + n * 1_000).toISOString(),
    cents: (n * 7_919) % 10_007,
    lines: [
      { sku: `sku-${n % 311}`, count: n % 5 },
      { sku: `sku-${n % 97}`, count: 1 },
    ],
  },
});

/** Documents of one month into a Parquet file, without storage and database; DuckDB adds them up. */
export const b34: Benchmark = {
  id: 'B34',
  title: 'documents into a Parquet file, and a sum by DuckDB',
  run: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'b34-'));
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const collected = (): number => {
      collect();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return (heapUsed + arrayBuffers) / 1e6;
    };
    const figures: Figure[] = [];
    const memory: number[] = [];
    try {
      for (const size of SIZES) {
        const path = join(folder, `${size}.parquet`);
        let [heap, bytes, sum] = [0, 0, 0];
        async function* documents(): AsyncGenerator<ArchivedDocument> {
          for (let n = 0; n < size; n++) {
            const document = documentOf(n);
            sum += Number(document.doc['cents']);
            yield document;
          }
        }
        const took = await seconds(async () => {
          for await (const piece of parquetPieces(
            lakeColumns({ from: { container: 'Orders', type: 'order' } }, MODEL),
            documents(),
          )) {
            bytes += piece.length;
            await appendFile(path, piece);
            heap = collected();
          }
        });
        memory.push(heap);
        const name = size.toLocaleString('en-US');
        figures.push(plain(`${name} documents: per second`, size / took, 'documents'));
        figures.push(plain(`${name} documents: bytes each`, bytes / size, 'B'));
        figures.push(plain(`${name} documents: heap at the end`, heap, 'MB'));
        const instance = await DuckDBInstance.create(':memory:');
        const connection = await instance.connect();
        let found: unknown;
        const asked = await seconds(async () => {
          const read = await connection.runAndReadAll(`SELECT sum(cents)::DOUBLE AS cents FROM '${path}'`);
          found = read.getRowObjectsJson()[0]?.['cents'];
        });
        connection.closeSync();
        instance.closeSync();
        if (found !== sum) throw new Error(`DuckDB says ${String(found)}, and the sum is ${sum}`);
        figures.push(plain(`${name} documents: a sum by DuckDB`, asked, 's'));
      }
      const lines = Array.from({ length: 10_000 }, (_, n) => `${JSON.stringify(documentOf(n))}\n`).join('');
      figures.push(plain('the same as a blob: bytes each', gzipSync(lines).length / 10_000, 'B'));
      const [first = 1] = memory;
      if (memory.length > 1) figures.push(atMost('heap, last by first size', (memory.at(-1) ?? 0) / first, 1.5, '×'));
      return figures;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};
