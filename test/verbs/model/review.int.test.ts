import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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
async function review(document = 'orders.md'): Promise<void> {
  const { stdout } = await run('review', 'orders.md');
  await write('orders.review.json', {
    version: 1,
    document,
    text: /"text": "([0-9a-f]{8})"/.exec(stdout)?.[1],
    answers: [{ question: 'K3', concerns: [CONCERN] }],
  });
}

describe('model review', () => {
  it('`model review` prints how to review, and the form of the file', async () => {
    const { code, stdout } = await run('review', 'orders.md');
    expect(code).toBe(0);
    expect(stdout).toContain('write `orders.review.json`');
    expect(stdout).toContain('"concerns"');
    const schema = JSON.parse((await run('review', '--schema')).stdout) as { properties: object };
    expect(Object.keys(schema.properties)).toEqual(['version', 'document', 'text', 'answers']);
  });
});

describe('model check with a review', () => {
  it('`model check` with a review reports the concerns of a document whose containers the reader does not find', async () => {
    await review();
    const { code, stdout } = await run('check', 'orders.md');
    expect(code).toBe(1);
    expect(stdout).toMatch(/error K3 +orders\.md:4/);
    expect(stdout).toContain('a review with 1 concern');
    // Nor what the reader skips.
    expect(stdout).not.toMatch(/doesn't read/);
  });

  it('`model check` with a review says what became of the words after an edit', async () => {
    await review();
    const path = join(root, 'orders.md');
    await writeFile(path, (await readFile(path, 'utf8')).replace('their status', 'the customer'));
    const { stdout } = await run('check', 'orders.md');
    expect(stdout).toContain('because these words aren\'t in the document: "split by their status"');
    expect(stdout).toContain('has changed since it was reviewed');
  });

  it('`model check` with a review waives a concern, also where the reader finds no container', async () => {
    await writeFile(
      join(root, 'orders.md'),
      `<!-- millrace-ignore K3 until 2999-06: ten orders a year -->\n${DOCUMENT}`,
    );
    await review();
    const { code, stdout } = await run('check', 'orders.md');
    expect(code).toBe(0);
    expect(stdout).toContain('ten orders a year');
  });

  it('`model check` with a review leaves out what the reader skipped in a document that it reads', async () => {
    const text =
      '# Shop\n\n## Container Designs\n\n### Orders Container\n\n- **Partition Key**: /customerId\n\n## Odds\n\nsplit by their status\n';
    await writeFile(join(root, 'orders.md'), text);
    expect((await run('check', 'orders.md')).stdout).toContain("doesn't read");
    await review();
    const { stdout } = await run('check', 'orders.md');
    expect(stdout).toContain('a review with 1 concern');
    expect(stdout).not.toContain("doesn't read");
  });

  it('`model check` with a review refuses a file of another form, and a review of another document', async () => {
    await write('orders.review.json', { version: 1, document: 'orders.md', text: '', answers: [] });
    const empty = await run('check', 'orders.md');
    expect(empty.code).toBe(2);
    expect(empty.stderr).toContain('orders.review.json: text');
    expect(empty.stderr).toContain('millrace model review --schema');
    await review('others.md');
    expect((await run('check', 'orders.md')).stderr).toContain('it is of others.md, and not of orders.md');
  });
});
