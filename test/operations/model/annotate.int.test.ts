import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cli } from '../../cli/cli.ts';

const DOCUMENT = `# Storage of accounts

## Where things are
We have one place called Users, split by the field userId.
Elsewhere we say that it is split by email.

## Container Security
\`\`\`json
{ "role": "reader", "scope": "/" }
\`\`\`
`;
const at = (line: number, words: string, key: string): object => ({
  kind: 'container',
  line,
  words,
  container: 'Users',
  key: [key],
});
const TWO_KEYS = [at(4, 'split by the field userId', '/userId'), at(5, 'split by email', '/email')];

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'millrace-annotate-'));
  await writeFile(join(root, 'accounts.md'), DOCUMENT);
});
afterEach(() => rm(root, { recursive: true, force: true }));

const run = (...words: string[]) => cli(['model', ...words], { directory: root });
const annotate = (annotations: readonly object[], more: object = {}): Promise<void> =>
  writeFile(
    join(root, 'accounts.annotations.json'),
    JSON.stringify({ version: 1, document: 'accounts.md', annotations, ...more }),
  );

describe('model annotate', () => {
  it('prints the instructions with the numbered document and the file to write', async () => {
    const { code, stdout } = await run('annotate', 'accounts.md');
    expect(code).toBe(0);
    expect(stdout).toContain('write `accounts.annotations.json`');
    expect(stdout).toContain('\n 4  We have one place called Users');
    expect(stdout).toContain('"const":"container"');
  });

  it('prints the schema alone', async () => {
    const { stdout } = await run('annotate', '--schema');
    expect(JSON.parse(stdout)).toMatchObject({ type: 'object', properties: { version: { const: 1 } } });
  });

  it('refuses a document that is not there, with the nearest name', async () => {
    const { code, stderr } = await run('annotate', 'acounts.md');
    expect(code).toBe(2);
    expect(stderr).toContain('accounts.md');
  });
});

describe('model check with annotations', () => {
  it('checks a document whose containers the reader does not find', async () => {
    const without = await run('check', 'accounts.md');
    expect(without.stdout).not.toContain('Users');
    await annotate(TWO_KEYS);
    const { code, stdout } = await run('check', 'accounts.md');
    expect(code).toBe(1);
    expect(stdout).toMatch(/J1 +accounts\.md:4/);
    expect(stdout).toContain('2 annotations of 2 of ');
    // Nor what the reader doesn't understand.
    expect(stdout).not.toContain("doesn't read");
  });

  it('says which words the document does not have', async () => {
    await annotate([...TWO_KEYS, at(4, 'split by the field tenantId', '/tenantId')]);
    const { stdout } = await run('check', 'accounts.md');
    expect(stdout).toContain('these words aren\'t in the document, so it isn\'t used: "split by the field tenantId"');
  });

  it('refuses a file of another form, with the place of the mistake', async () => {
    await annotate([{ ...TWO_KEYS[0], kind: 'table' }]);
    const { code, stderr } = await run('check', 'accounts.md');
    expect(code).toBe(2);
    expect(stderr).toContain('accounts.annotations.json: annotations.0.kind');
    expect(stderr).toContain('millrace model annotate --schema');
    await writeFile(join(root, 'accounts.annotations.json'), '{');
    expect((await run('check', 'accounts.md')).code).toBe(2);
  });

  it('leaves out a container that the reader saw and no annotation names, and takes the annotated key', async () => {
    const text = `${DOCUMENT}\n### Users Container\n- **Partition Key**: /wrong\n\n### Roles Container\n- **Partition Key**: /id\n`;
    await writeFile(join(root, 'accounts.md'), text);
    await annotate([TWO_KEYS[0] ?? {}]);
    const { stdout } = await run('export', 'accounts.md');
    const { containers } = JSON.parse(stdout) as { containers: { name: string; partitionKey: string[] }[] };
    expect(containers.map(({ name, partitionKey }) => [name, partitionKey])).toEqual([['Users', ['/userId']]]);
    expect(await readFile(join(root, 'accounts.md'), 'utf8')).toBe(text);
  });
});
