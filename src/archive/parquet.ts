// Documents as the bytes of a Parquet file, piece by piece.
import type { ColumnSource } from 'hyparquet-writer';
import { type LakeColumn, valuesOf } from './lake-columns.ts';
import type { ArchivedDocument } from './types.ts';

/** A row group: large ones compress better, and one is in memory. */
const ROWS = 50_000;
const CHARACTERS = 32 * 1024 * 1024;

/** The file, in pieces of a row group. The library is loaded here, since few commands need it. */
export async function* parquetPieces(
  columns: readonly LakeColumn[],
  documents: AsyncIterable<ArchivedDocument>,
): AsyncGenerator<Uint8Array> {
  const { ByteWriter, ParquetWriter, schemaFromColumnData } = await import('hyparquet-writer');
  const bytes = new ByteWriter();
  const typed = (values: readonly unknown[][]): ColumnSource[] =>
    columns.map(({ name, type }, at) => ({ name, type, nullable: true, data: values[at] ?? [] }));
  const schema = schemaFromColumnData({ columnData: typed([]) });
  const writer = new ParquetWriter({ writer: bytes, schema, createdBy: 'millrace' });
  const taken = (): Uint8Array => {
    const piece = bytes.getBytes().slice();
    bytes.index = 0;
    return piece;
  };
  let group: ArchivedDocument[] = [];
  let characters = 0;
  const written = async (): Promise<Uint8Array> => {
    await writer.write({ columnData: typed(valuesOf(columns, group)), rowGroupSize: ROWS });
    group = [];
    characters = 0;
    return taken();
  };
  for await (const document of documents) {
    group.push(document);
    characters += JSON.stringify(document.doc).length;
    if (group.length >= ROWS || characters >= CHARACTERS) yield await written();
  }
  if (group.length > 0) yield await written();
  await writer.finish();
  yield taken();
}
