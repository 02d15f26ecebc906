// A container's labelled facts: `- **Partition Key**: …` with its nested values, in all forms that occur.
import type { Code, ListItem, Paragraph, RootContent, Table } from 'mdast';
import { type LabelName, labelName } from './text/labels.ts';
import { lineOf, sectionPartsOf, sourceOf, withoutComments } from './text/outline.ts';
import { cut } from './text/tables.ts';

export interface StatedFence {
  readonly text: string;
  /** Line of its first line of content. */
  readonly line: number;
}

export interface Fact {
  /** Undefined: a label that the reader doesn't know. */
  readonly name: LabelName | undefined;
  readonly label: string;
  /** Source text after the label: backticks kept, bold removed, continuation lines joined. */
  readonly text: string;
  readonly line: number;
  /** Nested or following values, one for each item. */
  readonly items: { readonly text: string; readonly line: number }[];
  readonly fences: StatedFence[];
}

export interface LabelledFacts {
  readonly facts: Fact[];
  /** Fences without a label: the examples. */
  readonly loose: StatedFence[];
}

/** `source` is the whole document: values are cut from it, because the parser's text has no backticks. */
export function labelledFacts(blocks: readonly RootContent[], source: string): LabelledFacts {
  const known = factsOf.get(blocks);
  if (known) return known;
  const reader = new FactReader(source);
  for (const block of blocks) reader.block(block, undefined);
  factsOf.set(blocks, reader);
  return reader;
}

/** A section's facts are asked for by several readers. */
const factsOf = new WeakMap<readonly RootContent[], LabelledFacts>();

const VALUED = /^(?<own>[^::`]{2,40})[::]\s*(?<inner>\S.*)$/u;
const SIGN = /^\p{Extended_Pictographic}\uFE0F?\s*/u;
const LABELLED =
  /\n(?=\s*(?:\p{Extended_Pictographic}\uFE0F?\s*)?(?:\*\*|(?:partition key|container(?: name| id)?|collection|database(?: name)?|ttl|throughput)\s*:))|\s\|\s(?=\*\*)/iu;

class FactReader implements LabelledFacts {
  readonly facts: Fact[] = [];
  readonly loose: StatedFence[] = [];
  readonly #source: string;
  /** A label without a value: the list or fence directly after it is its value. */
  #open: Fact | undefined;

  constructor(source: string) {
    this.#source = source;
  }

  block(node: RootContent, owner: Fact | undefined): void {
    const holder = owner ?? this.#open;
    this.#open = undefined;
    if (node.type === 'list') for (const item of node.children) this.#item(item, holder);
    else if (node.type === 'code') this.#fence(node, holder);
    else if (node.type === 'paragraph') for (const line of this.#lines(node)) this.#open = awaiting(this.#fact(line));
    else if (node.type === 'table') this.#table(node);
  }

  /** An overview as a table of two columns: each row is a label and its value. */
  #table({ children: rows }: Table): void {
    for (const { children: cells, ...row } of rows) {
      const [label, value] = cells;
      if (!label || !value || cells.length > 2) return;
      const text = `**${plain(cut(label, this.#source))}**: ${cut(value, this.#source)}`;
      this.#fact({ text, line: row.position?.start.line ?? 1 });
    }
  }

  #item(item: ListItem, owner: Fact | undefined): void {
    const [first, ...rest] = item.children;
    if (first?.type !== 'paragraph') {
      for (const child of item.children) this.block(child, owner);
      return;
    }
    let fact: Fact | undefined;
    // An item can have several facts: in Markdown, a bold-labelled line directly under a list belongs to its last item.
    for (const line of this.#lines(first)) {
      const read = this.#fact(line, owner);
      if (!read) (fact ?? owner)?.items.push({ text: plain(line.text), line: line.line });
      fact = read ?? fact;
    }
    for (const child of rest) this.#nested(child, fact ?? owner);
    this.#open = rest.length === 0 ? awaiting(fact) : undefined;
  }

  #nested(node: RootContent, owner: Fact | undefined): void {
    if (node.type === 'paragraph' && owner)
      owner.items.push({ text: plain(withoutComments(sourceOf(node, this.#source))), line: lineOf(node) });
    else this.block(node, owner);
  }

  #fence(node: Code, owner: Fact | undefined): void {
    (owner?.fences ?? this.loose).push({ text: node.value, line: lineOf(node) + 1 });
  }

  /** Under an owner only known labels count, so that `Level 1: /storeId` is a value. */
  #fact({ text, line }: { text: string; line: number }, owner?: Fact): Fact | undefined {
    const match =
      /^\*\*(?<bold>[^*]+?)\s*[::]?\s*\*\*\s*[::]?\s*(?<value>[^]*)$|^(?<plain>[^:`*|]{2,40}?)\s*[::]\s*(?<rest>[^]*)$/u.exec(
        text,
      );
    const { bold, plain: words } = match?.groups ?? {};
    // `**Partition key: `/id`** (a GUID)`: the value is bold too.
    const within = VALUED.exec(bold ?? '')?.groups;
    const isWhole = within !== undefined && labelName(within['own'] ?? '') !== undefined;
    const label = (isWhole ? within['own'] : bold) ?? words;
    if (label === undefined) return undefined;
    const name = labelName(label);
    if (name === undefined && (owner || bold === undefined)) return undefined;
    const rest = match?.groups?.['value'] ?? match?.groups?.['rest'] ?? '';
    const value = plain(isWhole ? `${within['inner'] ?? ''} ${rest}` : rest);
    const fact: Fact = { name, label: label.trim(), text: value, line, items: [], fences: [] };
    this.facts.push(fact);
    return fact;
  }

  /**
   * In a paragraph, each line with a bold label, or with a known one, is a separate fact, and `**TTL:** 30 days |
   * **Throughput:** 400 RU/s` two. A sign before the label (`✅ Partition key: /id`) is no part of it.
   */
  #lines(node: Paragraph): { text: string; line: number }[] {
    return sectionPartsOf(node, this.#source, LABELLED).map(({ text, line }) => ({
      text: text.replace(SIGN, ''),
      line,
    }));
  }
}

const awaiting = (fact: Fact | undefined): Fact | undefined => (fact && /^$|[:：]$/.test(fact.text) ? fact : undefined);

const plain = (text: string): string =>
  text
    .replaceAll(/<br\s*\/?>/gi, ' ')
    .replaceAll('**', '')
    .replaceAll(/\s+/g, ' ')
    .trim();
