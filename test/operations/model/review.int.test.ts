import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { QUESTIONS } from '../../../src/model/rules/questions.ts';
import { cli } from '../../cli/cli.ts';

const DOCUMENT = `# Storage of orders

## Where things are
Orders are split by their status.
The shop page lists the orders of a customer.
`;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-review-'));
  await writeFile(join(root, 'orders.md'), DOCUMENT);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const run = (...words: string[]) => cli(['model', ...words], { directory: root });
const write = (name: string, value: object) => writeFile(join(root, name), JSON.stringify(value));

const CONCERN = {
  what: 'The status is the key of an order, so each change of it is a deletion and a creation.',
  remedy: 'Key the orders by the customer.',
  harm: 'high',
  places: [{ line: 4, words: 'split by their status' }],
};

/** A review with one concern under K3, by the mark that the instructions give. */
async function review(name = 'orders.review.json', concern: object = CONCERN): Promise<void> {
  const { stdout } = await run('review', 'orders.md');
  await write(name, {
    version: 1,
    document: 'orders.md',
    text: /"text": "([0-9a-f]{8})"/.exec(stdout)?.[1],
    answers: QUESTIONS.map(({ id }) =>
      id === 'K3'
        ? { question: id, concerns: [concern] }
        : { question: id, concerns: [], because: 'It does not arise here.' },
    ),
  });
}

describe('model review', () => {
  it('prints every question, the schema, and the numbered document', async () => {
    const { code, stdout } = await run('review', 'orders.md');
    expect(code).toBe(0);
    expect(stdout).toContain('write `orders.review.json`');
    for (const { id, title } of QUESTIONS) expect(stdout).toContain(`**${id}. ${title}.**`);
    expect(stdout).toContain('\n4  Orders are split by their status.');
    expect((await run('review', 'orders.md', '--by', 'ada')).stdout).toContain('write `orders.ada.review.json`');
  });

  it('prints only the titles for a free review', async () => {
    const { stdout } = await run('review', 'orders.md', '--by', 'eve', '--free');
    expect(stdout).toContain('write `orders.eve.review.json`');
    expect(stdout).toContain('and `"free": true`');
    for (const { id, title, ask } of QUESTIONS) {
      expect(stdout).toContain(`- ${id} ${title}\n`.trimEnd());
      expect(stdout).not.toContain(ask[0]);
    }
  });

  it('prints the schema of a review, and that of verdicts', async () => {
    const properties = async (...words: string[]): Promise<object> =>
      (JSON.parse((await run('review', '--schema', ...words)).stdout) as { properties: object }).properties;
    expect(Object.keys(await properties())).toContain('answers');
    expect(Object.keys(await properties('--second'))).toContain('verdicts');
  });

  it('prints the requirements too, where a folder has them', async () => {
    const { stdout } = await cli(['model', 'review', 'examples/storefront']);
    expect(stdout).toContain('## The requirements, with the number of each line');
  });

  it('prints all findings for the second reader, also those that are set aside', async () => {
    await review();
    const name = /\*\*(K3-[0-9a-f]{8})\*\* \(error\), line 4/.exec(
      (await run('review', 'orders.md', '--second')).stdout,
    )?.[1];
    expect(name).toBeDefined();
    await write('orders.verdicts.json', {
      version: 1,
      document: 'orders.md',
      verdicts: [{ finding: name, verdict: 'minor', because: 'The shop has ten orders a year.' }],
    });
    expect((await run('review', 'orders.md', '--second')).stdout).toContain(`**${name}**`);
  });
});

describe('model check with a review', () => {
  it('reports the concerns of a document whose containers the reader does not find', async () => {
    await review();
    const { code, stdout } = await run('check', 'orders.md');
    expect(code).toBe(1);
    expect(stdout).toMatch(/error K3 +orders\.md:4/);
    expect(stdout).toContain('a review with 1 concern');
    expect(stdout).not.toContain('orders.review.json');
    // Nor what the reader skips, or another way to have the document read.
    expect(stdout).not.toMatch(/doesn't read|model annotate/);
  });

  it('takes the reviews of several readers together', async () => {
    await review();
    await review('orders.ada.review.json', { ...CONCERN, places: [{ line: 5, words: 'orders of a customer' }] });
    expect((await run('check', 'orders.md')).stdout).toContain('a review with 2 concerns');
  });

  it('sets aside what the second reader does not call right, and lists it if asked', async () => {
    await review();
    const { findings } = JSON.parse((await run('check', 'orders.md', '--json')).stdout) as {
      findings: { name: string }[];
    };
    await write('orders.verdicts.json', {
      version: 1,
      document: 'orders.md',
      verdicts: [{ finding: findings[0]?.name, verdict: 'wrong', because: 'An order never changes its status.' }],
    });
    const { code, stdout } = await run('check', 'orders.md');
    expect(code).toBe(0);
    expect(stdout).toContain('1 finding set aside by verdicts');
    expect(stdout).not.toContain('never changes');
    expect((await run('check', 'orders.md', '--unchecked')).stdout).toContain(
      'wrong: An order never changes its status.',
    );
    const { runs } = JSON.parse((await run('check', 'orders.md', '--sarif')).stdout) as {
      runs: { results: object[] }[];
    };
    expect(runs[0]?.results).toMatchObject([
      {
        ruleId: 'K3',
        suppressions: [{ kind: 'external', justification: 'wrong: An order never changes its status.' }],
      },
    ]);
    await run('check', 'orders.md', '--html', 'report.html');
    expect(await readFile(join(root, 'report.html'), 'utf8')).toContain('wrong: An order never changes its status.');
  });

  it('says what became of the words after an edit', async () => {
    await review();
    const path = join(root, 'orders.md');
    await writeFile(path, (await readFile(path, 'utf8')).replace('their status', 'the customer'));
    const { stdout } = await run('check', 'orders.md');
    expect(stdout).toContain('because these words aren\'t in the document: "split by their status"');
    expect(stdout).toContain('has changed since it was reviewed');
  });

  it('refuses a file of another form, or with a question that there is not', async () => {
    await write('orders.review.json', { version: 1, document: 'orders.md', text: '', answers: [] });
    const empty = await run('check', 'orders.md');
    expect(empty.code).toBe(2);
    expect(empty.stderr).toContain('orders.review.json: text');
    expect(empty.stderr).toContain('millrace model review --schema');
    const answers = [{ question: 'K99', concerns: [] }];
    await write('orders.review.json', { version: 1, document: 'orders.md', text: 'x', answers });
    expect((await run('check', 'orders.md')).stderr).toContain('there is no question K99');
  });
});
