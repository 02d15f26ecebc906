// How the lines of a blob are packed. The end of its name says how, so readers read each whatever the archive declares.
import { randomBytes } from 'node:crypto';
import { constants, gunzipSync, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ArchiveCodec } from '../../pipeline/specs.ts';

interface Packing {
  readonly ending: string;
  readonly contentType: string;
  /** The same text gives the same bytes with one version of Node; `unique` ones differ. */
  readonly pack: (text: string, unique: boolean) => Uint8Array;
  readonly unpack: (bytes: Uint8Array, most: number) => Buffer;
}

/** The magic number of a frame that readers of zstd skip, little-endian, and the number of bytes in it. */
const SKIPPED = [0x50, 0x2a, 0x4d, 0x18, 8, 0, 0, 0];

const PACKINGS: Readonly<Record<ArchiveCodec, Packing>> = {
  gzip: {
    ending: '.jsonl.gz',
    contentType: 'application/gzip',
    pack: (text, unique) => {
      const bytes = gzipSync(text);
      // The header's operating system becomes "unknown", so that all systems make the same bytes. Its time is zero already.
      bytes[9] = 255;
      if (unique) randomBytes(4).copy(bytes, 4);
      return bytes;
    },
    unpack: (bytes, most) => gunzipSync(bytes, { maxOutputLength: most }),
  },
  zstd: {
    ending: '.jsonl.zst',
    contentType: 'application/zstd',
    pack: (text, unique) => {
      const bytes = zstdCompressSync(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
      return unique ? Buffer.concat([bytes, Buffer.from(SKIPPED), randomBytes(8)]) : bytes;
    },
    unpack: (bytes, most) => zstdDecompressSync(bytes, { maxOutputLength: most }),
  },
};

const CODECS = Object.keys(PACKINGS) as ArchiveCodec[];

/** The codec of a blob by its name; undefined: the name is no blob's. */
export const codecOf = (name: string): ArchiveCodec | undefined =>
  CODECS.find((codec) => name.endsWith(PACKINGS[codec].ending));

export const endingOf = (codec: ArchiveCodec): string => PACKINGS[codec].ending;
export const contentTypeOf = (codec: ArchiveCodec): string => PACKINGS[codec].contentType;
export const compress = (codec: ArchiveCodec, text: string, unique = false): Uint8Array =>
  PACKINGS[codec].pack(text, unique);

/** @throws if the bytes are no such blob, or unpack to more than `most` */
export const decompress = (codec: ArchiveCodec, bytes: Uint8Array, most: number): string =>
  PACKINGS[codec].unpack(bytes, most).toString();
