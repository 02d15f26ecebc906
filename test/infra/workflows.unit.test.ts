// The workflows of this repository, which `millrace init` writes too.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const files = [...globSync('.github/workflows/*.yml', { cwd: ROOT }), 'src/host/init/template/ci.yml'];
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

it.each(files)('a workflow names each action by the digest of a release: %s', (file) => {
  const used = [...textOf(file).matchAll(/\buses: (.*)$/gm)].map(([, action = '']) => action);
  expect(used.length).toBeGreaterThan(0);
  expect(used.filter((action) => !/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(action))).toEqual([]);
});

it('an action has one digest in all workflows', () => {
  const digests = new Map<string, Set<string>>();
  for (const [, action = '', digest = ''] of files
    .map(textOf)
    .join('\n')
    .matchAll(/\buses: (\S+)@(\S+)/g))
    digests.set(action, (digests.get(action) ?? new Set()).add(digest));
  expect([...digests].filter(([, found]) => found.size > 1)).toEqual([]);
});

it('a workflow that gets a token of Azure has an environment, whose reviewers let it begin', () => {
  const signing = files.filter((file) => textOf(file).includes('id-token: write'));
  expect(signing.map((file) => basename(file)).toSorted()).toEqual(['deploy.yml', 'docs.yml', 'plan.yml']);
  for (const file of signing) expect(textOf(file)).toMatch(/^ {4}environment:/m);
  // The job that runs the code of a branch begins after one that asks whether the environment has reviewers.
  const [, reviewed = '', plan = ''] =
    /^  reviewed:\n([^]*)^  plan:\n([^]*)/m.exec(textOf('.github/workflows/plan.yml')) ?? [];
  expect(plan).toMatch(/^ {4}needs: reviewed$/m);
  expect(plan).toMatch(/^ {4}environment: plan$/m);
  expect(reviewed).toContain('required_reviewers');
  expect(reviewed).not.toMatch(/id-token|uses:/);
});
