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
async function review(name = 'orders.review.json', concern: object = CONCERN, document = 'orders.md'): Promise<void> {
  const { stdout } = await run('review', document === 'others.md' ? 'orders.md' : document);
  await write(name, {
    version: 1,
    document,
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

  it('refuses flags that are of different readers', async () => {
    for (const flags of [['--free'], ['--second', '--free', '--by', 'eve'], ['--second', '--by', 'eve']]) {
      const { code, stderr } = await run('review', 'orders.md', ...flags);
      expect([code, stderr.includes('--by NAME --free')]).toEqual([2, true]);
    }
  });

  it('names findings for the second reader as the check with the same settings does', async () => {
    await writeFile(join(root, 'settings.json'), '{ "profile": "seed" }');
    const settings = ['--settings', join(root, 'settings.json')];
    const text = await readFile('examples/storefront/cosmosdb_data_model.md', 'utf8');
    await writeFile(join(root, 'cosmosdb_data_model.md'), text.replaceAll(/max \d[\d,]* RU\/s/g, 'max 1,000 RU/s'));
    await writeFile(
      join(root, 'cosmosdb_requirements.md'),
      await readFile('examples/storefront/cosmosdb_requirements.md', 'utf8'),
    );
    const { findings } = JSON.parse((await run('check', '.', ...settings, '--json')).stdout) as {
      findings: { name: string }[];
    };
    const { stdout } = await run('review', '.', '--second', ...settings);
    expect(findings.length).toBeGreaterThan(0);
    expect(findings.map(({ name }) => name).filter((name) => !stdout.includes(`**${name}**`))).toEqual([]);
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
  });

  it('says what became of the words after an edit', async () => {
    await review();
    const path = join(root, 'orders.md');
    await writeFile(path, (await readFile(path, 'utf8')).replace('their status', 'the customer'));
    const { stdout } = await run('check', 'orders.md');
    expect(stdout).toContain('because these words aren\'t in the document: "split by their status"');
    expect(stdout).toContain('has changed since it was reviewed');
  });

  it('leaves out the review of another document whose name begins alike', async () => {
    await writeFile(join(root, 'orders.v2.md'), DOCUMENT);
    await review('orders.v2.review.json', CONCERN, 'orders.v2.md');
    expect((await run('check', 'orders.v2.md')).stdout).toContain('a review with 1 concern');
    await review();
    expect((await run('check', 'orders.md')).stdout).toContain('a review with 1 concern');
    await review('orders.ada.review.json', CONCERN, 'others.md');
    const { code, stderr } = await run('check', 'orders.md');
    expect(code).toBe(2);
    expect(stderr).toContain('it is of others.md, and not of orders.md');
  });

  it('waives a concern, also where the reader finds no container', async () => {
    await writeFile(
      join(root, 'orders.md'),
      `<!-- millrace-ignore K3 until 2999-06: ten orders a year -->\n${DOCUMENT}`,
    );
    await review();
    const { code, stdout } = await run('check', 'orders.md');
    expect(code).toBe(0);
    expect(stdout).toContain('ten orders a year');
  });

  it('leaves out what the reader skipped in a document that it reads', async () => {
    const text =
      '# Shop\n\n## Container Designs\n\n### Orders Container\n\n- **Partition Key**: /customerId\n\n## Odds\n\nsplit by their status\n';
    await writeFile(join(root, 'orders.md'), text);
    expect((await run('check', 'orders.md')).stdout).toContain("doesn't read");
    await review();
    const { stdout } = await run('check', 'orders.md');
    expect(stdout).toContain('a review with 1 concern');
    expect(stdout).not.toContain("doesn't read");
  });

  it('refuses a file of another form, or with a question that there is not', async () => {
    await write('orders.review.json', { version: 1, document: 'orders.md', text: '', answers: [] });
    const empty = await run('check', 'orders.md');
    expect(empty.code).toBe(2);
    expect(empty.stderr).toContain('orders.review.json: text');
    expect(empty.stderr).toContain('millrace model review --schema');
    const twice = { finding: 'K3-00000000', verdict: 'wrong', because: 'The text says something else.' };
    await review();
    await write('orders.verdicts.json', { version: 1, document: 'orders.md', verdicts: [twice, twice] });
    expect((await run('check', 'orders.md')).stderr).toContain('there are two verdicts on K3-00000000');
    const answers = [{ question: 'K99', concerns: [] }];
    await write('orders.review.json', { version: 1, document: 'orders.md', text: 'x', answers });
    expect((await run('check', 'orders.md')).stderr).toContain('there is no question K99');
  });
});
