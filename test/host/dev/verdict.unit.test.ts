import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelLines } from '../../../src/host/dev/model-lines.ts';
import { verdictText } from '../../../src/host/dev/verdict.ts';
import { type Verification, isVerified } from '../../../src/procedures/verify/verify.ts';
import { openWorkspace } from '../../../src/runtime/open-workspace.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';

const RIGHT: Verification = {
  projections: [{ id: 'days@1', expected: 2, refused: 0 }],
  documents: { sources: 5, expected: 2, found: 2 },
  different: 0,
  differences: [],
  moving: 0,
  parked: [],
  repaired: null,
  beyond: [],
};

describe('the verdict of dev', () => {
  it('counts the documents of all places that equal a recomputation', () => {
    expect(verdictText([RIGHT, RIGHT], 4)).toBe('All right: 4 documents equal a recomputation (4 s)');
  });

  it('does not call nothing all right', () => {
    const nothing = { ...RIGHT, documents: { sources: 0, expected: 0, found: 0 } };
    expect(verdictText([nothing], 0)).toContain('Nothing is derived yet');
  });

  it('says what differs, and what could not be judged', () => {
    expect(verdictText([RIGHT, { ...RIGHT, different: 1 }], 4)).toContain('1 difference');
    expect(verdictText([{ ...RIGHT, moving: 2, behind: true }], 4)).toContain('2 documents can’t be judged');
  });
});

it('the verdict of dev names a version that a rebuild would park for, and one document', () => {
  const first = { container: 'Orders', key: ['s1'], id: 'o1', message: 'no such field' };
  const verification = { ...RIGHT, untried: [{ projection: 'days@2', refused: 60, first }] };
  expect(verdictText([verification], 4)).toContain(
    'days@2 is not built yet, and a rebuild would park 60 documents, such as Orders ["s1","o1"]: no such field',
  );
  expect([isVerified(RIGHT), isVerified(verification)]).toEqual([true, false]);
});

describe('the verdict of dev on what differs', () => {
  const found = (different: number, projection: (n: number) => string = () => 'days@1'): string => {
    const differences = Array.from({ length: different }, (_, n) => ({
      projections: [projection(n)],
      container: 'Days',
      document: `["s1","d${n}"]`,
      kind: 'missing' as const,
      fields: [],
    }));
    return verdictText([{ ...RIGHT, different, differences }], 4);
  };

  it('counts all, names the first three, and says what shows the others', () => {
    const text = found(30);
    expect(text).toContain('compared with 2 sink documents: 30 differences\n');
    expect(text.match(/missing: Days \["s1","d\d+"\]/g)).toEqual([0, 1, 2].map((n) => `missing: Days ["s1","d${n}"]`));
    expect(text).toMatch(/\n {2}… and 27 others; `millrace projections verify days@1` shows more\.$/);
  });

  it('names no projection if several differ, and no command if all are said', () => {
    expect(found(4, (n) => `days@${n}`)).toContain('… and 1 other; `millrace projections verify` shows more.');
    expect(found(3)).not.toContain('millrace projections verify');
  });
});

describe('the first lines of dev', () => {
  const TEMPLATE = join(import.meta.dirname, '../../../src/host/init/template/pipeline');
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(import.meta.dirname, '../../fixtures/lines-'));
    await cp(TEMPLATE, folder, { recursive: true });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  const lines = async (): Promise<string[]> => {
    const { pipeline } = await loadPipeline(folder);
    return modelLines(openWorkspace({ directory: folder, pipeline: folder }), pipeline);
  };

  it('say that the projections are as the document has them, or name each difference with its line', async () => {
    expect(await lines()).toEqual(['Model: 2 projections are as cosmosdb_data_model.md has them']);
    const file = join(folder, 'cosmosdb_data_model.md');
    const text = await readFile(file, 'utf8');
    await writeFile(file, text.replace('| days |', '| dayz |'));
    const [first, ...differences] = await lines();
    expect(first).toMatch(/^Model: \d+ differences between cosmosdb_data_model\.md and the code:$/);
    expect(differences).toContainEqual(expect.stringMatching(/^ {2}cosmosdb_data_model\.md:\d+: .*dayz.*\(G1\)$/));
    await rm(file);
    await rm(join(folder, 'cosmosdb_requirements.md'));
    expect(await lines()).toEqual([]);
  });
});
