// docs/llms.txt (llmstxt.org): the pages of docs/README.md, each with its first sentence.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { toString as textOf } from 'mdast-util-to-string';

const docs = join(import.meta.dirname, '../../docs');

/** `generated`: pages by their paths, which may not be written yet. */
export function llmsText(generated: ReadonlyMap<string, string>): string {
  const pageOf = (path: string): string => generated.get(path) ?? readFileSync(join(docs, path), 'utf8');
  const readme = pageOf('README.md');
  const sections = readme
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const links = [...section.matchAll(/^- \[(.+?)\]\((.+?)\)/gm)];
      const lines = links.map(
        ([, title = '', path = '']) => `- [${title}](${path}): ${firstSentence(path, pageOf(path))}`,
      );
      return `## ${section.split('\n')[0] ?? ''}\n\n${lines.join('\n')}\n`;
    });
  return `# Millrace\n\n> ${firstSentence('README.md', readme)}\n\nThe pages are Markdown. Every command, option and setting is in *Reference*, which is written from the code.\n\n${sections.join('\n')}`;
}

/** Of the first paragraph. A page that begins otherwise doesn't say what it is for. */
function firstSentence(path: string, page: string): string {
  const [first] = fromMarkdown(page).children.filter(({ type }) => type !== 'html' && type !== 'heading');
  if (first?.type !== 'paragraph')
    throw new Error(`docs/${path} doesn't begin with a paragraph that says what it is for`);
  const text = textOf(first).replaceAll(/\s+/g, ' ');
  return /^.*?[.:](?= [A-Z`]|$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
}
