import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runCli } from '../../src/cli/run.ts';
import { Registry } from '../../src/verbs/registry.ts';
import { differenceOf } from '../../src/testing/prove/difference.ts';
import { modelProve } from '../../src/testing/prove/operation.ts';
import type { Doc } from '../../src/pipeline/specs.ts';
import { readPair } from '../../src/verbs/model/pair.ts';
import { loadPipeline } from '../../src/runtime/pipeline/load-pipeline.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import { type PatternProof, type Proof, prove } from '../../src/testing/prove/prove.ts';
import { bind } from '../../src/testing/prove/question.ts';
import { NAMES, type Texts, pipelineOf, textsOf } from '../model/example-texts.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { queryOf } from '../../src/model/reader/sql.ts';
import { Writable } from 'node:stream';

class Text extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

async function run(folder: string, ...flags: string[]) {
  const [stdout, stderr] = [new Text(), new Text()];
  const { signal } = new AbortController();
  const args = ['model', 'prove', join(import.meta.dirname, folder), ...flags];
  const code = await runCli(new Registry([modelProve]), '0.0.0', args, {
    stdout,
    stderr,
    directory: process.cwd(),
    signal,
  });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

describe('a model with one pattern for each verdict', () => {
  let code: number;
  let proof: Proof;
  beforeAll(async () => {
    const answer = await run('../fixtures/proof', '--json');
    code = answer.code;
    proof = JSON.parse(answer.stdout) as Proof;
  });
  const pattern = (id: string): PatternProof | undefined => proof.patterns.find((of) => of.pattern === id);

  test('exit code 1, with the counts', () => {
    expect(code).toBe(1);
    expect(proof.totals).toEqual({ proved: 0, run: 5, 'not run': 3, different: 1 });
    expect(proof).toMatchObject({ written: 4, parked: [] });
    expect(proof).not.toHaveProperty('difference');
  });

  test('point reads and queries are run as their rows say, with what they take', () => {
    expect(pattern('1')).toMatchObject({
      verdict: 'run',
      how: 'point-read',
      container: 'Orders',
      ru: 1,
      statedRu: 1,
    });
    expect(pattern('2')).toMatchObject({ verdict: 'run', derived: true, how: 'query', container: 'Lists' });
    expect(pattern('2')).not.toHaveProperty('reach');
    expect(pattern('7')).toMatchObject({ verdict: 'run', how: 'query', container: 'Days' });
  });

  test('nothing is proved while the contract has errors, which are named', () => {
    expect(proof.contract).toContainEqual(
      expect.objectContaining({ rule: 'G2', at: expect.objectContaining({ line: 26 }) }),
    );
  });

  test('a query that the service refuses is different', () => {
    expect(pattern('9')).toMatchObject({
      verdict: 'different',
      why: expect.stringContaining('Cosmos DB refused the query'),
    });
  });

  test('what crosses partitions is named, with the measured charge', () => {
    expect(pattern('4')).toMatchObject({ verdict: 'run', reach: 'all partitions' });
    expect(pattern('4')?.ru).toBeGreaterThan(2);
  });

  test('what can’t be run says why', () => {
    expect(pattern('5')).toMatchObject({ verdict: 'not run', why: 'its row has no query text in backticks' });
    expect(pattern('6')).toMatchObject({ verdict: 'not run', why: 'create has no answer to compare' });
    expect(pattern('8')).toMatchObject({ verdict: 'not run', why: 'no row of the mapping names it' });
  });
});

test('an example pair is proved; one line a pattern', async () => {
  const { code, stdout } = await run('../../examples/flights');
  expect(stdout).toMatch(
    /^ {2}3 {2}proved: query of FlightsByDestination, \d+ runs, \d+ rows, [\d.]+ RU at most \(3 stated\), by its meaning: id, destination, origin, date, delay, distance$/m,
  );
  expect(stdout).toContain(' 13  not run: archive flights-cold serves it, outside of the containers\n');
  expect(stdout).toContain('11 examples written; derived documents are right\n');
  expect(stdout).toContain('5 proved, 2 run, 6 not run, 0 different');
  expect(code).toBe(0);
});

test('a fault that is in the code and in the words contradicts the meaning', async () => {
  const folder = join(import.meta.dirname, '../../examples/telemetry');
  const [loaded, texts] = [await loadPipeline(folder), textsOf('telemetry')];
  const pipeline = pipelineOf(texts.pipeline.replace('celsius > 8', 'celsius > 9.5'));
  const design = parseDesign(texts.design.replace('sum(celsius > 8)', 'sum(celsius > 9.5)'), NAMES.design);
  const { patterns, difference } = await prove(
    { ...loaded, pipeline: { ...pipeline, publishes: [], archives: [] } },
    { design, requirements: undefined },
    ['3'],
  );
  expect(difference).toBeUndefined();
  expect(patterns).toMatchObject([
    { pattern: '3', verdict: 'different', why: expect.stringContaining('by its meaning') },
  ]);
});

describe('the flights, changed', () => {
  const proved = async (only: string, change: (texts: Texts) => Partial<Texts>) => {
    const texts = { ...textsOf('flights'), ...change(textsOf('flights')) };
    const loaded = await loadPipeline(join(import.meta.dirname, '../../examples/flights'));
    const { patterns } = await prove(
      { ...loaded, pipeline: pipelineOf(texts.pipeline) },
      {
        design: parseDesign(texts.design, NAMES.design),
        requirements: undefined,
        source: { file: NAMES.pipeline, text: texts.pipeline },
      },
      [only],
    );
    return patterns[0];
  };

  test('another value contradicts the meaning', async () => {
    const capped = (texts: Texts) => ({
      pipeline: texts.pipeline.replace('distance: flight.distance,', 'distance: Math.min(flight.distance, 400),'),
    });
    expect(await proved('3', capped)).toMatchObject({ verdict: 'different', why: expect.stringContaining('400') });
  });

  test('every meaning of a pattern is compared', async () => {
    const twice = ({ design }: Texts) => ({
      design: design.replace(
        '```sql meaning of 6',
        "```sql meaning of 5 over Flights\nSELECT c.id FROM c WHERE c.type = 'none' AND c.origin = @origin\n```\n\n```sql meaning of 6",
      ),
    });
    expect(await proved('5', twice)).toMatchObject({ verdict: 'different' });
  });

  test('a row with two queries is run; a meaning without an order does not prove that of its query', async () => {
    const query = "`SELECT * FROM c WHERE c.origin = @origin AND c.type = 'route'`";
    const more = (tail: string) => (texts: Texts) => ({ design: texts.design.replace(query, tail) });
    const two = await proved('5', more(`${query}, then \`SELECT * FROM c WHERE c.origin = @origin\``));
    expect(two).toMatchObject({ verdict: 'run', unproved: expect.stringContaining('2 queries') });
    const read = await proved('5', ({ design }) => ({
      design: design.replace(/^(\| 5 \|[^|]*\|[^|]*\|)([^|]*)/m, '$1 Point read, then$2'),
    }));
    expect(read).toMatchObject({ verdict: 'run', unproved: expect.stringContaining('a point read and a query') });
    const sorted = await proved('5', more(`${query.slice(0, -1)} ORDER BY c.origin\``));
    expect(sorted).toMatchObject({ verdict: 'proved', unordered: true });
  });
});

test('a pipeline without a projection is run', async () => {
  const { stdout } = await run('../../examples/tables');
  expect(stdout).toContain('0 proved, 5 run');
});

test('one pattern alone; one that isn’t there is a usage error', async () => {
  const unknown = await run('../fixtures/proof', '--only', '77');
  expect(unknown.code).toBe(2);
  expect(unknown.stderr).toContain('There is no pattern 77');
});

test('what a projection parks is named, and a sink is no meaning', async () => {
  const folder = join(import.meta.dirname, '../fixtures/proof');
  const [loaded, { documents }] = await Promise.all([
    loadPipeline(folder),
    readPair(openWorkspace({ directory: process.cwd() }), folder),
  ]);
  const projections = loaded.pipeline.projections.map((spec) =>
    spec.kind === 'aggregate' ? { ...spec, groupBy: ({ day }: Doc) => ({ storeId: 's1', day }) } : spec,
  );
  const pipeline = { ...loaded.pipeline, tenant: 'storeId', publishes: [], projections };
  const text = 'SELECT c.id, c.cents FROM c WHERE c.storeId = @store AND c.status = @status';
  const meanings = [{ text, ids: ['2'], container: 'Lists', at: { file: 'm', line: 1 } }];
  const { parked, patterns } = await prove(
    { ...loaded, pipeline },
    { design: { ...documents.design!, meanings }, requirements: undefined },
    ['2'],
  );
  expect(patterns).toMatchObject([{ verdict: 'different', why: expect.stringContaining('1 rows instead of 0') }]);
  expect(parked).toContainEqual(expect.stringMatching(/^days@1: /));
});

describe('parameters', () => {
  const bound = (text: string, doc: object, all: readonly object[] = [doc]) => {
    const query = queryOf(text);
    if (!query) throw new Error('no query');
    return bind(
      query,
      { ...doc },
      all.map((of) => ({ ...of })),
    );
  };
  test.each([
    ['SELECT * FROM c WHERE c.a.b = @x', { a: { b: 7 } }, [{ name: '@x', value: 7 }]],
    ['SELECT * FROM c WHERE @x = c.a', { a: 7 }, [{ name: '@x', value: 7 }]],
    [
      'SELECT * FROM c WHERE STARTSWITH(c.at, @day)',
      { at: '2026-01-01T10:00' },
      [{ name: '@day', value: '2026-01-01' }],
    ],
    [
      'SELECT * FROM c WHERE c.n >= @from AND c.n < @to',
      { n: 3 },
      [
        { name: '@from', value: 3 },
        { name: '@to', value: 4 },
      ],
    ],
    ['SELECT * FROM c WHERE ARRAY_CONTAINS(@ids, c.id)', { id: 'a' }, [{ name: '@ids', value: ['a'] }]],
    [
      'SELECT * FROM c WHERE c.n BETWEEN @a AND @b',
      { n: 3 },
      [
        { name: '@a', value: 3 },
        { name: '@b', value: 4 },
      ],
    ],
    ['SELECT * FROM c WHERE SOMETHING(@x)', { a: 1 }, 'no document gives a value for @x'],
  ])('%s', (text, doc, expected) => {
    expect(bound(text, doc)).toEqual(expected);
  });
});

describe('rows', () => {
  const query = (text: string) => {
    const read = queryOf(text);
    if (!read) throw new Error('no query');
    return read;
  };
  const ordered = query('SELECT TOP 2 * FROM c ORDER BY c.n');
  test('rows come in any order where none is asked for; fields that are added to documents don’t count', () => {
    const all = query('SELECT * FROM c');
    expect(differenceOf([{ id: 1, _etag: 'x' }, { id: 2 }], [{ id: 2 }, { id: 1 }], all)).toBeUndefined();
    expect(differenceOf([{ id: 1 }, { id: 1 }], [{ id: 2 }, { id: 1 }], all)).toContain('unexpected');
    expect(differenceOf([{ id: 1 }], [{ id: 2 }, { id: 1 }], all)).toContain('missing {"id":2}');
  });
  test('rows come in the asked order; what ties for the last place of a limited list may be another', () => {
    expect(differenceOf([{ n: 1 }, { n: 2, id: 'a' }], [{ n: 1 }, { n: 2, id: 'b' }], ordered)).toBeUndefined();
    expect(differenceOf([{ n: 2 }, { n: 1 }], [{ n: 1 }, { n: 2 }], ordered)).toContain('row 1');
    expect(differenceOf([{ n: 1, id: 'a' }, { n: 2 }], [{ n: 1, id: 'b' }, { n: 2 }], ordered)).toContain('unexpected');
  });
});
