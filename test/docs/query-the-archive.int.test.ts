// The SQL of docs/how-to/query-the-archive.md, run by DuckDB over the blobs of an archive.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gunzipSync, zstdCompressSync } from 'node:zlib';
import { BlobServiceClient } from '@azure/storage-blob';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, onTestFinished, test, vi } from 'vitest';
import { WORLDS } from './how-to-worlds.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/how-to/query-the-archive.md'), 'utf8');
const SQL = /^```sql\n([\s\S]*?)^```$/m.exec(PAGE)?.[1] ?? '';
/** The rows of the table below the query. */
const SHOWN = [...PAGE.matchAll(/^│ (s\d) +│ ([\d-]+) │ +(\d+) │ +(\d+) │$/gm)].map(([, ...cells]) => cells);

test.each(['gz', 'zst'])('DuckDB reads the blobs as they are, and counts each document once: %s', async (ending) => {
  await using world = await WORLDS['query-the-archive.md']!();
  onTestFinished(() => void vi.unstubAllEnvs());
  await world.events['an order comes back, changes and leaves again']!();
  const folder = mkdtempSync(join(tmpdir(), 'millrace-duckdb-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const blobs = BlobServiceClient.fromConnectionString(process.env['STORAGE'] ?? '').getContainerClient('archive');
  let lines = 0;
  for await (const { name } of blobs.listBlobsFlat()) {
    const bytes = await blobs.getBlobClient(name).downloadToBuffer();
    const file = join(folder, 'archive', name.replace(/gz$/, ending));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, file.endsWith('.zst') ? zstdCompressSync(gunzipSync(bytes)) : bytes);
    lines += name.endsWith('.gz') ? gunzipSync(bytes).toString().trim().split('\n').length : 0;
  }
  expect(lines).toBe(13);
  const duckdb = await (await DuckDBInstance.create(':memory:')).connect();
  const answer = await duckdb.runAndReadAll(SQL.replace("'archive/", `'${folder}/archive/`));
  expect(answer.getRows().map((row) => row.map(String))).toEqual(SHOWN);
  duckdb.closeSync();
});
