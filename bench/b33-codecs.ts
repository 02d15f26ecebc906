// The codecs of the archive on what a sweep's blob and a compaction's blob hold.
import { blobLineOf } from '../src/archive/blobs/blob.ts';
import { compress, decompress } from '../src/archive/blobs/codec.ts';
import type { ArchiveCodec } from '../src/pipeline/specs.ts';
import { type Benchmark, type Figure, atLeast, plain, ratios, seconds, sized } from './support/measure.ts';
import { things } from './support/things.ts';

const MEGABYTE = 1e6;
const CODECS: readonly ArchiveCodec[] = ['gzip', 'zstd'];

export const b33: Benchmark = {
  id: 'B33',
  title: 'zstd ÷ gzip of archived documents: size, packing and unpacking',
  run: async () => {
    const figures: Figure[] = [];
    for (const documents of [400, sized(20_000, 500)]) {
      const text = textOf(documents);
      const size = Buffer.byteLength(text);
      const packed = Object.fromEntries(CODECS.map((codec) => [codec, compress(codec, text)]));
      for (const codec of CODECS)
        figures.push(plain(`${documents} documents: unpacked ÷ ${codec}`, size / (packed[codec]?.length ?? 0), '×'));
      const rate = async (work: () => unknown): Promise<number> => {
        const times = Math.ceil(sized(20_000, 1) / documents);
        const time = await seconds(async () => {
          for (let n = 0; n < times; n++) work();
        });
        return (times * size) / MEGABYTE / time;
      };
      const pack = await ratios(5, async () => [
        await rate(() => compress('zstd', text)),
        await rate(() => compress('gzip', text)),
      ]);
      const unpack = await ratios(5, async () => [
        await rate(() => decompress('zstd', packed['zstd'] ?? Buffer.alloc(0), 2 * size)),
        await rate(() => decompress('gzip', packed['gzip'] ?? Buffer.alloc(0), 2 * size)),
      ]);
      figures.push(
        plain(`${documents} documents: packing by gzip`, pack.theirs, 'MB/s'),
        plain(`${documents} documents: packing by zstd`, pack.ours, 'MB/s'),
        plain(`${documents} documents: unpacking by gzip`, unpack.theirs, 'MB/s'),
        plain(`${documents} documents: unpacking by zstd`, unpack.ours, 'MB/s'),
        atLeast(`${documents} documents: packing by zstd ÷ gzip`, pack.ratio, 1.5),
      );
    }
    return figures;
  },
};

/** The lines of a blob, in their order. */
const textOf = (documents: number): string =>
  things(0, documents)
    .map((doc, n) =>
      blobLineOf({
        container: 'Source',
        key: [String(doc['key'])],
        id: String(doc['id']),
        type: 'thing',
        version: { epoch: 1, lsn: n, etag: `"${String(n).padStart(8, '0')}-0000-0100-0000-${n}"` },
        at: 1_700_000_000_000 + n,
        op: 'upsert',
        doc,
      }),
    )
    .toSorted()
    .map((line) => `${line}\n`)
    .join('');
