// The links of the package's pages.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';
import type { Link, Nodes } from 'mdast';

/** Pages that `files` in package.json leaves out, from any folder of the package. */
const LEFT_OUT = /^(?:\.\.\/)*(?:docs\/)?(?:SPEC-[\w-]+\.md|adr\/)/;

/** A page whose links to pages that the package leaves out are plain text. */
export function unlinked(page: string): string {
  let text = page;
  for (const { position, children } of all(fromMarkdown(page)).filter(leftOut).toReversed()) {
    const inner = page.slice(children[0]?.position?.start.offset, children.at(-1)?.position?.end.offset);
    text = text.slice(0, position?.start.offset) + inner + text.slice(position?.end.offset);
  }
  return text;
}

/** Each link of a page in `folder` to a file that isn't there, after the page's path. */
export function deadLinks(folder: string): string[] {
  return globSync('**/*.md', { cwd: folder, exclude: ['**/node_modules'] }).flatMap((page) =>
    linksOf(fromMarkdown(readFileSync(join(folder, page), 'utf8')))
      .filter((link) => !/^(?:[a-z]+:|#)/.test(link))
      .filter((link) => !existsSync(join(folder, dirname(page), decodeURI(link.split('#')[0] ?? ''))))
      .map((link) => `${page}: ${link}`),
  );
}

export const linksOf = (page: Nodes): string[] =>
  all(page).flatMap((node) =>
    node.type === 'link' || node.type === 'image' || node.type === 'definition' ? [node.url] : [],
  );

const leftOut = (node: Nodes): node is Link => node.type === 'link' && LEFT_OUT.test(node.url);

const all = (node: Nodes): Nodes[] => [node, ...('children' in node ? node.children.flatMap(all) : [])];
