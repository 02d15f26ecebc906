import { mkdtemp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MODEL } from '../../../src/model/code/define-model.ts';
import { cli } from '../../cli/cli.ts';
import { m } from '../../fixtures/shop/model.ts';
import { DESIGN, type Edit, edited } from '../../model/rules/base.ts';
import { SHOP } from '../../support/stage.ts';

let root: string;
let count = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-check-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** A folder with these files; what is undefined isn't there. */
async function folder(files: Readonly<Record<string, string | Uint8Array>>): Promise<string> {
  const path = join(root, String(count++));
  await mkdir(path);
  for (const [name, content] of Object.entries(files)) await writeFile(join(path, name), content);
  return path;
}

async function pair(edits: readonly Edit[] = []): Promise<string> {
  const { requirements, design } = edited(edits);
  return folder({ 'cosmosdb_requirements.md': requirements, 'cosmosdb_data_model.md': design });
}

const check = (path: string, ...flags: string[]) => cli(['model', 'check', path, ...flags], { directory: root });
const WRONG: Edit = ['| 5 | Place an order | Orders |', '| 5 | Place an order | Ordrs |'];

describe('model check', () => {
  it('`model check` says that there are no findings, and with --unchecked what was not checked; exit code 0', async () => {
    const path = await pair();
    const { code, stdout } = await check(path);
    expect(stdout).toMatch(/no findings; \d+ rules, \d+ of them not fully checked \(--unchecked lists them\)/);
    expect(stdout).not.toContain('Not checked');
    expect(code).toBe(0);
    const listed = (await check(path, '--unchecked')).stdout;
    expect(listed).toMatch(/Not checked, because this is missing\n/);
    expect(listed).toMatch(/pipeline\.ts: G1 /);
    expect(listed).not.toMatch(/a shard map|a hierarchical key/);
    expect(listed).not.toContain('--unchecked');
  });

  it('`model check` names the rules that lack a whole document without being asked', async () => {
    const { requirements } = edited([]);
    const { stdout } = await check(await folder({ 'cosmosdb_requirements.md': requirements }));
    expect(stdout).toMatch(/the data model \(cosmosdb_data_model\.md\): A/);
    expect(stdout).not.toContain('a shard map');
  });

  it('`model check` shows a finding with its line, a caret under the name, and "did you mean"; exit code 1', async () => {
    const { code, stdout } = await check(await pair([WRONG]));
    expect(code).toBe(1);
    const lines = stdout.split('\n');
    const at = lines.findIndex((line) => line.includes('error A3'));
    expect(lines[at]).toMatch(/cosmosdb_data_model\.md:\d+/);
    expect(lines[at + 1]).toContain('Ordrs');
    const [shown = '', caret = ''] = lines.slice(at + 2, at + 4);
    expect(shown.slice(caret.indexOf('^'), caret.lastIndexOf('^') + 1)).toBe('Ordrs');
    expect(stdout).toContain('Did you mean Orders?');
  });

  it('--fix corrects paths that the service refuses and the floor of a range, and no prose; --dry-run shows it', async () => {
    const path = await pair([
      ['"cents": 100 },', '"cents": 100, "lines": [{ "sku": "a" }], "by": { "x": 1 } },'],
      [
        '- **Purpose**: orders\n',
        '- **Purpose**: orders; the text /lines/*/sku/? stays\n- **Included Paths**: `/customerId/?`, `/lines/*/sku/?`, `/by/*/n/?`, `/placedAt`\n- **Excluded Paths**: `/*`\n',
      ],
      ['autoscale 400-4,000 RU/s, 10', 'autoscale 1,000-4,000 RU/s, 10'],
    ]);
    const text = () => readFile(join(path, 'cosmosdb_data_model.md'), 'utf8');
    const before = await text();
    const dry = await check(path, '--fix', '--dry-run');
    expect(dry.stdout).toContain('+ - **Throughput Planning**: autoscale 400-4,000 RU/s, 10');
    expect(await text()).toBe(before);
    const { code, stdout } = await check(path, '--fix');
    expect(code).toBe(1);
    expect(stdout).toContain('Fixed');
    expect(stdout).not.toContain('error B12');
    // The names of an object can't be left open in a path, so this one is a person's.
    expect(stdout).toContain("/by/*/n/? isn't a valid index path");
    expect(await text()).toBe(
      before
        .replace('`/lines/*/sku/?`', '`/lines/[]/sku/?`')
        .replace('`/placedAt`', '`/placedAt/?`')
        .replace('1,000-4,000', '400-4,000'),
    );
    expect((await check(path, '--fix')).stdout).not.toContain('Fixed');
  });

  it('`model check` takes one document of the two, and names the other as missing', async () => {
    const { code, stdout } = await check(await folder({ 'cosmosdb_data_model.md': DESIGN }));
    expect(stdout).toMatch(/the access patterns \(cosmosdb_requirements\.md\): A2/);
    expect(code).toBe(0);
  });

  it('`model check` waives what the document waives, until it says so', async () => {
    const waived = (until: string): Edit => [
      '## Access Pattern Mapping\n',
      `## Access Pattern Mapping\n<!-- millrace-ignore A3, A4, A2 until ${until}: renamed next week -->\n\n`,
    ];
    const good = await check(await pair([WRONG, waived('2999-01')]));
    expect(good.stdout).toContain('renamed next week');
    expect(good.stdout).not.toContain('error A3');
    const late = await check(await pair([WRONG, waived('2020-01')]));
    expect(late.stdout).toContain('error A3');
    expect(late.stdout).toContain('has expired');
    const undated = await check(
      await pair([
        WRONG,
        ['## Access Pattern Mapping\n', '## Access Pattern Mapping\n<!-- millrace-ignore A3: later -->\n\n'],
      ]),
    );
    expect(undated.stdout).toContain('has no date');
    expect(undated.code).toBe(1);
  });

  it('`model check` fails on errors alone if so asked', async () => {
    const path = await pair([['`/id` - 100,000 values', '`/tier` - read by tier']]);
    expect((await check(path)).code).toBe(1);
    expect((await check(path, '--fail-on', 'error')).code).toBe(0);
  });

  it('`model check` gives JSON with findings, lines and reasons', async () => {
    const { stdout, code } = await check(await pair([WRONG]), '--json');
    const value: unknown = JSON.parse(stdout);
    expect(value).toMatchObject({ ok: false, counts: { error: expect.any(Number) } });
    expect(value).toMatchObject({
      findings: expect.arrayContaining([
        expect.objectContaining({
          rule: 'A3',
          at: { file: expect.stringMatching(/^\d+\/cosmosdb_data_model\.md$/), line: expect.any(Number) },
          source: expect.stringContaining('Ordrs'),
        }),
      ]),
    });
    expect(code).toBe(1);
  });
});

describe('a pipeline beside the documents', () => {
  const beside = async (pipeline: string, edits: readonly Edit[] = []): Promise<string> => {
    const { requirements, design } = edited(edits);
    return folder({
      'cosmosdb_requirements.md': requirements,
      'cosmosdb_data_model.md': design,
      'pipeline.ts': pipeline,
    });
  };
  const unready = (projections: string, helpers = ''): string =>
    `${helpers}
    export default {
      name: 'shop', model: ${JSON.stringify({ ...m[MODEL], examples: join(SHOP, 'model.examples.json') })}, sources: [], embeds: [], effects: [], archives: [],
      publishes: [], ingests: [], findings: [], projections: [${projections}],
    };`;
  const days = (groupBy: string): string => `{
    kind: 'aggregate', name: 'days', version: 1, onDelete: 'remove', stable: false, maxLag: '30 s',
    from: { container: 'Orders', type: 'order' }, into: { container: 'Days', type: 'day' },
    groupBy: ${groupBy}, measures: { orders: { kind: 'count' } },
  }`;

  it('what a host refuses at its start is a finding', async () => {
    const path = await beside(unready(days('() => ({ day: null })')));
    const { code, stdout } = await check(path);
    expect(stdout).toMatch(/error G13 {2}\d+\/pipeline\.ts:\d+\n.* without a string, number or boolean in \/day/);
    expect(code).toBe(1);
    const dev = await cli(['dev', '--once', '--pipeline', path], { directory: root });
    expect(dev).toMatchObject({ code: 2, stderr: expect.stringContaining('without a string, number or boolean') });
  });

  it.each([
    ['throws', '\n\nthrow new Error("no such setting");', 3, 'no such setting'],
    ['imports what isn’t there', '\nimport "./nowhere.ts";', 2, 'nowhere.ts'],
    ['imports a package that isn’t installed', '\nimport "nothing-of-npm";', 2, 'Run `npm install` in the project'],
    ['is no TypeScript', 'export default {', 1, "can't be loaded"],
    ['has no pipeline', 'export default 1;', 1, 'no pipeline as its default export'],
  ])('one that %s is a finding among those of the documents', async (_, text, line, says) => {
    const { code, stdout } = await check(await beside(text, [WRONG]));
    expect(stdout).toContain('error A3');
    expect(stdout).toMatch(new RegExp(`error G13 +\\d+/pipeline\\.ts:${line}\n.*`));
    expect(stdout).toContain(says);
    expect(code).toBe(1);
  });

  it('--fix writes the section of projections from it; --dry-run shows the lines', async () => {
    const path = await beside(unready(days('({ day }) => ({ day })')));
    const text = () => readFile(join(path, 'cosmosdb_data_model.md'), 'utf8');
    const before = await text();
    const dry = await check(path, '--fix', '--dry-run');
    expect(dry.stdout).toContain('+ | days | aggregate | Orders (order) | Days (day) |');
    expect(await text()).toBe(before);
    expect((await check(path, '--fix')).stdout).toContain('+ | days | aggregate');
    expect(await text()).toContain('| days | aggregate | Orders (order) | Days (day) |');
    expect((await check(path, '--fix')).stdout).not.toContain('Fixed');
  });

  it('one that can’t be loaded keeps the verbs from running that need it, and the others not', async () => {
    const path = await beside('throw new Error("no such setting");');
    expect((await cli(['model', 'cost', path], { directory: root })).code).toBe(0);
    expect(await cli(['plan', '--pipeline', path], { directory: root })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('no such setting'),
    });
  });
});

describe('what is no pair of documents', () => {
  it.each([
    ['binary', { 'cosmosdb_data_model.md': Uint8Array.from([1, 0, 2]) }, /binary: there is a NUL byte/],
    ['empty', { 'cosmosdb_data_model.md': ' \n' }, /is empty/],
    [
      'huge',
      { 'cosmosdb_data_model.md': '- a line\n'.repeat(2_300_000) },
      /20\.7 MB; a modelling document has 1 MB at most/,
    ],
    ['nested', { 'cosmosdb_data_model.md': `# T\n## Container Designs\n${'>'.repeat(40_000)}a` }, /nested too deep/],
    [
      'marks without end',
      { 'cosmosdb_data_model.md': `# T\n## Container Designs\na\n\n> ${'*a_ '.repeat(40_000)}` },
      /cosmosdb_data_model\.md, line 5, can't be read: there are too many of \* _ ~/,
    ],
    ['UTF-16', { 'cosmosdb_data_model.md': Buffer.from(`\uFEFF${DESIGN}`, 'utf16le') }, /UTF-16/],
    [
      'mixed encodings',
      { 'cosmosdb_data_model.md': Buffer.concat([Buffer.from(DESIGN), Buffer.from('caf\u00E9', 'latin1')]) },
      /line 1\d\d isn't UTF-8/,
    ],
    [
      'other content',
      { 'cosmosdb_data_model.md': '# Readme\n\n## Install\n' },
      /none of the headings of a data-model document/,
    ],
    ['other content', { 'cosmosdb_requirements.md': '# Readme\n\n## Install\n' }, /not a requirements document/],
    ['no document', { 'cosmosdb_data_modle.md': DESIGN }, /neither .* did you mean cosmosdb_data_modle\.md/],
  ])('%s: one clear word, exit code 2', async (_, files, message) => {
    const { code, stderr, stdout } = await check(await folder(files));
    expect(stderr).toMatch(message);
    expect(stderr).not.toMatch(/^ {4}at /m);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  it('a directory of that name, and a folder that is not there', async () => {
    const path = await folder({});
    await mkdir(join(path, 'cosmosdb_data_model.md'));
    expect(await check(path)).toMatchObject({ code: 2, stderr: expect.stringContaining('it is a directory') });
    expect(await check(join(root, 'nowhere'))).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no'),
    });
  });

  it('one of the documents may be named instead of its folder', async () => {
    expect((await check(join(await pair(), 'cosmosdb_data_model.md'))).code).toBe(0);
  });
});

describe('--explain, and model cost', () => {
  it('`--explain` explains a rule, and asks what was meant', async () => {
    const one = await cli(['model', 'check', '--explain', 'b11']);
    expect(one).toMatchObject({ code: 0, stdout: expect.stringMatching(/^B11 {2}/) });
    for (const part of ['How to fix it', 'Source', '70 %']) expect(one.stdout).toContain(part);
    expect(await cli(['model', 'check', '--explain', 'B111'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('did you mean B1'),
    });
  });

  it('`model cost` adds costs up, in money where there is a price', async () => {
    const path = await pair();
    const plain = await cli(['model', 'cost', path, '--terms']);
    // 25 creates at 10 RU, 50 reads at 1 RU, and the feed of the 25 changes.
    expect(plain.stdout).toContain(
      'Orders: pattern 1 50/s × 1 RU + pattern 5 25/s × 10 RU + feed of summaries 25/s × 0.3 RU = 307.5 RU/s',
    );
    const priced = await cli(['model', 'cost', path, '--price', '0.01', '--json']);
    expect(JSON.parse(priced.stdout)).toMatchObject({ price: 0.01 });
  });

  it('the manual container costs its maximum all the time, autoscale a tenth at least', async () => {
    const { stdout } = await cli(['model', 'cost', await pair(), '--json']);
    const { containers } = JSON.parse(stdout) as {
      containers: { name: string; hours: { expected: number; most: number } }[];
    };
    const hours = new Map(containers.map(({ name, hours: of }) => [name, of]));
    expect(hours.get('Customers')).toEqual({ expected: 4 * 720, most: 4 * 720 });
    expect(hours.get('Orders')).toEqual({ expected: 4 * 720, most: 40 * 720 });
  });
});
