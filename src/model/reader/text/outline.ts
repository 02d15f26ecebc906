// The document as a tree of sections over the Markdown syntax tree, so that fences hide headings and every fact has a line.
import type { Heading, Nodes, Paragraph, RootContent } from 'mdast';
import { toString } from 'mdast-util-to-string';
import { parseMarkdown } from './markdown.ts';

export interface Section {
  readonly depth: number;
  /** Heading text without its markup. */
  readonly title: string;
  /** First backticked part of the heading. */
  readonly code?: string;
  /** The whole heading is struck through: the section is ignored. */
  readonly struck: boolean;
  readonly line: number;
  /** Blocks before the first subsection. */
  readonly blocks: RootContent[];
  readonly sections: Section[];
}

/** A root section of depth 0. It has the blocks before the first heading, and all other sections. */
export function outline(text: string, file: string): Section {
  const root: Section = { depth: 0, title: '', struck: false, line: 1, blocks: [], sections: [] };
  const open = [root];
  for (const node of parseMarkdown(text, file).children) {
    if (node.type !== 'heading') {
      open.at(-1)?.blocks.push(node);
      continue;
    }
    while ((open.at(-1)?.depth ?? 0) >= node.depth) open.pop();
    const section = heading(node);
    open.at(-1)?.sections.push(section);
    open.push(section);
  }
  return root;
}

function heading(node: Heading): Section {
  const meaningful = node.children.filter((child) => toString(child).trim() !== '');
  const code = node.children.find((child) => child.type === 'inlineCode');
  return {
    depth: node.depth,
    title: toString(node).trim(),
    // `/type` is the key that a heading states.
    ...(code && !code.value.startsWith('/') && { code: code.value }),
    struck: meaningful.length > 0 && meaningful.every((child) => child.type === 'delete'),
    line: lineOf(node),
    blocks: [],
    sections: [],
  };
}

/** A node's source text, because the parser's text has no backticks. Empty for undefined. */
export const sourceOf = (node: Nodes | undefined, source: string): string =>
  source.slice(node?.position?.start.offset ?? 0, node?.position?.end.offset ?? 0);

/** Without comments, such as waivers, in the same place. */
export const withoutComments = (text: string): string =>
  text.replaceAll(/<!--[^]*?-->/g, (comment) => comment.replaceAll(/[^\n]/g, ' '));

/** The parts of a paragraph, each with its first line. */
export function sectionPartsOf(node: Paragraph, source: string, separator: RegExp): { text: string; line: number }[] {
  const text = withoutComments(sourceOf(node, source));
  let from = 0;
  return text.split(separator).map((part) => {
    const at = text.indexOf(part, from);
    from = at + part.length;
    return { text: part.trim(), line: lineOf(node) + text.slice(0, at).split('\n').length - 1 };
  });
}

export const lineOf = (node: Nodes): number => node.position?.start.line ?? 1;

/** A section and all sections under it, in the document's order, without the struck ones. */
export function* within(section: Section): Generator<Section> {
  if (section.struck) return;
  yield section;
  for (const child of section.sections) yield* within(child);
}
