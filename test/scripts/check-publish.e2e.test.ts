import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';

const here = join(import.meta.dirname, '../..');
let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'millrace-publish-'));
  mkdirSync(join(root, 'docs'));
  writeFileSync(join(root, 'docs/page.md'), '# A page\n');
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

/** Judges a repository with this manifest and README. */
function check(manifest: object, readme: string): { code: number | null; said: string } {
  writeFileSync(join(root, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(root, 'README.md'), readme);
  for (const given of [
    ['init', '-q'],
    ['add', '.'],
  ])
    spawnSync('git', given, { cwd: root });
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(here, 'scripts/check-publish.ts'), root], {
    encoding: 'utf8',
  });
  return { code: status, said: stdout + stderr };
}

const ADDRESSED = {
  repository: { type: 'git', url: 'git+https://github.com/someone/millrace.git' },
  homepage: 'https://someone.example/millrace/',
};
const README =
  '[A page](docs/page.md#top), [all](docs/), [here](#here), [there](https://there.example) ![](docs/page.md)';

it('the check before publishing publishes with addresses, and every link of the README in the repository', () => {
  expect(check({ ...ADDRESSED, repository: 'github:someone/millrace' }, README)).toMatchObject({ code: 0 });
});

it.each<[string, object, string, RegExp[]]>([
  [
    'nothing is set',
    {},
    '[Lost](docs/lost.md) and [Out](../page.md)',
    [
      /no repository.*npm pkg set repository\.type=git/,
      /no homepage.*npm pkg set homepage=/,
      /links to docs\/lost\.md, which is no file/,
      /links to \.\.\/page\.md/,
    ],
  ],
  [
    'what is set is of no use',
    { repository: 'https://git.example/a/b', homepage: 'http://a.example' },
    README,
    [/not one on GitHub.*npm pkg set/, /not an https address.*npm pkg set/],
  ],
])('the check before publishing refuses where %s, with causes and remedies', (_, manifest, readme, messages) => {
  const { code, said } = check(manifest, readme);
  expect(code).toBe(1);
  for (const message of messages) expect(said).toMatch(message);
  expect(said.trim().split('\n')).toHaveLength(messages.length + 1);
});

it('the check before publishing is asked by npm before this package is published, whose README would have working links with an address', () => {
  const manifest = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  expect(manifest.scripts['prepublishOnly']).toBe('node scripts/check-publish.ts');
  for (const part of ['docs', 'examples']) cpSync(join(here, part), join(root, part), { recursive: true });
  // Pages that are written from the code are in no commit, so no link of the README may lead to one.
  for (const file of ['CONTRIBUTING.md', 'CHANGELOG.md', 'LICENSE', '.gitignore'])
    cpSync(join(here, file), join(root, file));
  expect(check(ADDRESSED, readFileSync(join(here, 'README.md'), 'utf8')).said).toMatch(/^publish: /);
});
