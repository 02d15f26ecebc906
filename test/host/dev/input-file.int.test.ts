import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { fileInput, fileInputs } from '../../../src/host/dev/input.ts';

const folder = mkdtempSync(join(tmpdir(), 'input-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;
/** Ids of the documents that a file has, and why others are none. */
async function read(content: string | Uint8Array): Promise<(string | undefined)[]> {
  const file = join(folder, `orders${(files += 1)}.json`);
  writeFileSync(file, content);
  const input = await fileInput(file, { container: 'Orders', type: 'order' });
  const found: (string | undefined)[] = [];
  for await (const { at, step } of input.items()) {
    expect(at).toBeGreaterThanOrEqual(found.length + 1);
    found.push(typeof step === 'string' ? step : 'upsert' in step ? step.upsert.id : undefined);
  }
  expect(input.share?.()).toBeGreaterThan(0.9);
  return found;
}

const orders = [
  { id: 'a', note: 'ends ] } , and "quotes \\" in a text' },
  { id: 'b', lines: [{ sku: 'x' }, { sku: ']' }], deep: { of: [[1], [2, 3]] } },
  { id: 'ü?b', note: 'é'.repeat(70_000) },
];
const ids = orders.map(({ id }) => id);
const lines = orders.map((order) => JSON.stringify(order)).join('\n');

describe('a file of documents', () => {
  it.each<[string, string | Uint8Array]>([
    ['lines', lines],
    ['lines of Windows, with a byte order mark', `\uFEFF${lines.replaceAll('\n', '\r\n\r\n')}\r\n`],
    ['an array in one line', JSON.stringify(orders)],
    ['an array as Data Explorer exports it', `${JSON.stringify(orders, undefined, 4)}\n`],
    ['an array after a byte order mark and a blank line', `\uFEFF\n ${JSON.stringify(orders, undefined, '\t')}`],
    ['packed lines', gzipSync(lines)],
    ['a packed array', gzipSync(JSON.stringify(orders, undefined, 2))],
  ])('a file of documents is read as %s', async (_, content) => {
    expect(await read(content)).toEqual(ids);
  });

  it('a file of documents without any has none', async () => {
    expect(await read(' [ \n ]\n')).toEqual([]);
  });

  it('a file of documents keeps what is wrong in an array apart from the rest', async () => {
    const found = await read('[{"id":"a"}, 7, {"id" "b"}, [{"id":"c"}],, {"id":"d"}]\n{"id":"e"}');
    expect(found).toEqual([
      'a',
      'it is a JSON value, but not an object',
      expect.stringContaining('not valid JSON'),
      'it is a JSON value, but not an object',
      'd',
      'it stands after the end of the array',
    ]);
    expect(await read('[{"id":"a"},\n{"id":"b')).toEqual(['a', 'the array that it is in is cut off']);
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['UTF-16 as PowerShell writes it', Buffer.from(`\uFEFF${lines}`, 'utf16le'), /is UTF-16, not UTF-8/],
    ['UTF-16 without a mark', Buffer.from(lines, 'utf16le'), /is UTF-16/],
    ['packed UTF-16', gzipSync(Buffer.from(`\uFEFF${lines}`, 'utf16le')), /is UTF-16/],
    ['a packed file that is cut off', gzipSync(lines).subarray(0, 60), /gzip file .* is damaged or cut off/],
  ])('a file of documents is refused where it is %s', async (_, content, message) => {
    await expect(read(content)).rejects.toMatchObject({
      code: 'input-invalid',
      message: expect.stringMatching(message) as string,
      hint: expect.any(String) as string,
    });
  });
});

describe('files of documents', () => {
  const place = join(folder, 'export');
  const into = { container: 'Orders', type: 'order' };
  const names = async (...paths: string[]) => (await fileInputs(paths, [into])).map(({ name }) => name);
  const file = (name: string): string => {
    mkdirSync(join(place, 'empty'), { recursive: true });
    writeFileSync(join(place, name), lines);
    return join(place, name);
  };

  it('files of documents are those that are named, and those of a folder in the order of their names', async () => {
    const [second, first, other] = ['b.jsonl.gz', 'a.json', 'c.txt'].map(file);
    file('a.json.rejects.jsonl');
    expect(await names(place, other!)).toEqual([first, second, other]);
  });

  it('files of documents have the type that stands beside each', async () => {
    const others = { container: 'Customers', type: 'customer' };
    const inputs = await fileInputs([file('a.json'), file('d.json')], [into, others]);
    expect(inputs.map(({ identity }) => identity)).toMatchObject([into, others]);
  });

  it('files of documents are refused where a folder has none, and where two have one name', async () => {
    await expect(names(join(place, 'empty'))).rejects.toThrow('has no file of documents');
    await expect(names(file('a.json'), place)).rejects.toThrow('Two files of --input are named a.json');
    await expect(names(join(place, 'absent.json'))).rejects.toThrow('There is no file');
  });
});
