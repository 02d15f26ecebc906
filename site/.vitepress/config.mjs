// The site of docs/. `npm run docs` builds it into site/dist; a link that leads nowhere ends the build.
// Its navigation is that of docs/README.md. SITE_BASE is the path below which it is served (default /), and
// SITE_SOURCE the address under which files of the repository are, for links that leave docs/; without it they are text.
import { cpSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { defineConfig } from 'vitepress';

const root = join(import.meta.dirname, '../..');
const docs = join(root, 'docs');
const { SITE_BASE = '/', SITE_SOURCE } = process.env;

/** Sections of docs/README.md with their links. */
const sections = readFileSync(join(docs, 'README.md'), 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    text: section.split('\n')[0],
    items: [...section.matchAll(/^- \[(.+?)\]\((.+?)\)/gm)].map(([, text, page]) => ({
      text,
      link: `/${page.replace(/(README)?\.md$/, '')}`,
    })),
  }));

/** Links that leave docs/ lead to the repository, or to nothing: then they are text. */
function outward(md) {
  md.core.ruler.push('outward', ({ tokens, env }) => {
    const inline = tokens.flatMap(({ children }) => children ?? []);
    for (const [at, token] of inline.entries()) {
      const target = token.type === 'link_open' ? token.attrGet('href') : null;
      if (!target?.startsWith('.')) continue;
      const path = relative(root, resolve(docs, dirname(env.relativePath), target));
      if (path.startsWith('docs')) continue;
      if (SITE_SOURCE) token.attrSet('href', `${SITE_SOURCE}/${path}`);
      else {
        Object.assign(token, { tag: 'span', attrs: null });
        inline.slice(at).find(({ type }) => type === 'link_close').tag = 'span';
      }
    }
  });
}

// Pages import packages of the site, so they have to be below it.
const pages = join(root, 'site/pages');
rmSync(pages, { recursive: true, force: true });
cpSync(docs, pages, { recursive: true });

export default defineConfig({
  title: 'Millrace',
  description: 'Keep everything derived from an Azure Cosmos DB for NoSQL account correct.',
  lang: 'en',
  base: SITE_BASE,
  srcDir: 'pages',
  outDir: 'dist',
  cacheDir: '.cache',
  cleanUrls: true,
  rewrites: (path) => path.replace(/(^|\/)README\.md$/, '$1index.md'),
  markdown: { config: outward },
  themeConfig: {
    nav: sections.slice(0, 4).map(({ text, items }) => ({ text, link: items[0].link })),
    sidebar: sections.map(({ text, items }, at) => ({ text, items, collapsed: at >= 4 })),
    search: { provider: 'local' },
    outline: [2, 3],
  },
  // llms.txt and the Markdown that it links to.
  buildEnd: ({ outDir }) =>
    cpSync(docs, outDir, {
      recursive: true,
      filter: (path) => statSync(path).isDirectory() || /\.(md|txt)$/.test(path),
    }),
});
