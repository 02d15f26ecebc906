// Refuses to publish a package whose page on npm would have dead links: npm makes the relative links of the README absolute
// by `repository`, and leaves them as they are without it (ASM-H61). Run by `npm publish` (prepublishOnly).
// Usage: node scripts/check-publish.ts [ROOT]; exit code 1 with a line for each fault.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { linksOf } from './package/links.ts';

interface Manifest {
  readonly homepage?: string;
  readonly repository?: string | { readonly url?: string };
}

const root = process.argv[2] ?? join(import.meta.dirname, '..');
const { homepage, repository } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
const faults = [...repositoryFaults(repository), ...homepageFaults(homepage), ...linkFaults()];
for (const fault of faults) console.error(fault);
if (faults.length > 0) {
  console.error('Nothing was published.');
  process.exitCode = 1;
} else console.log('publish: repository, homepage and the links of README.md are usable on npm');

function repositoryFaults(given: Manifest['repository']): string[] {
  const url = typeof given === 'string' ? given : given?.url;
  const remedy =
    'Set the address of the repository: npm pkg set repository.type=git repository.url=git+https://github.com/OWNER/NAME.git';
  if (!url) return [`package.json has no repository, so every relative link of README.md is dead on npm. ${remedy}`];
  const named = /^(?:github:)?[\w.-]+\/[\w.-]+$|^(?:git\+)?https:\/\/github\.com\/[\w.-]+\/[\w.-]+$/.test(url);
  return named ? [] : [`The repository ${url} is not one on GitHub, whose links alone npm is known to make. ${remedy}`];
}

function homepageFaults(given: string | undefined): string[] {
  const remedy =
    'Set the address of the site that docs.yml publishes: npm pkg set homepage=https://OWNER.github.io/NAME/';
  if (!given) return [`package.json has no homepage. ${remedy}`];
  return URL.parse(given)?.protocol === 'https:' ? [] : [`The homepage ${given} is not an https address. ${remedy}`];
}

/** What the repository has at its HEAD is what a link on npm finds; a file that only this machine has is not there. */
function linkFaults(): string[] {
  const { status, stdout, stderr } = spawnSync('git', ['ls-files'], { cwd: root, encoding: 'utf8' });
  if (status !== 0) return [`git can't list the files of ${root}: ${stderr.trim()}. Publish from a clone.`];
  const files = stdout.split('\n').filter(Boolean);
  const there = (path: string): boolean => files.some((file) => file === path || file.startsWith(`${path}/`));
  const readme = fromMarkdown(readFileSync(join(root, 'README.md'), 'utf8'));
  return linksOf(readme)
    .filter((link) => !/^(?:[a-z]+:|#)/.test(link))
    .filter((link) => !there((link.split('#')[0] ?? '').replace(/\/$/, '')))
    .map((link) => `README.md links to ${link}, which is no file of the repository. Write the path from its root.`);
}
