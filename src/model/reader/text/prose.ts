// Splits a document's text into pieces with line, heading and bold label, for the rules that search texts.
import type { List, ListItem, Paragraph, RootContent } from 'mdast';
import type { Check, Meaning, Prose, SectionHeading } from '../../documents.ts';
import { sectionNameOf } from './sections.ts';
import { type Section, lineOf, sectionPartsOf, sourceOf } from './outline.ts';
import { patternIds } from '../pattern-ids.ts';
import { plainText, cut } from './tables.ts';

const LABEL = /^\*\*(?<bold>[^*]{1,80}?)\s*[::]?\s*\*\*\s*[::]?\s*(?<value>[^]*)$/u;

export interface Pieces {
  readonly prose: Prose[];
  readonly headings: SectionHeading[];
  readonly checks: Check[];
  readonly meanings: Meaning[];
}

export function piecesOf(root: Section, source: string, file: string): Pieces {
  const reader = new ProseReader(source, file);
  reader.section(root, undefined);
  return reader;
}

/** `meaning of 3 over Flights`, `meaning of 6, 7 for customerTotal over Orders` */
export const MEANING = /^meaning of (.+?)(?: for ([\p{L}_][\w-]*))? over ([\p{L}_][\w-]*)\s*$/iu;

class ProseReader implements Pieces {
  readonly prose: Prose[] = [];
  readonly headings: SectionHeading[] = [];
  readonly checks: Check[] = [];
  readonly meanings: Meaning[] = [];
  readonly #source: string;
  readonly #file: string;
  #name: string | undefined;
  #heading = '';

  constructor(source: string, file: string) {
    this.#source = source;
    this.#file = file;
  }

  section(section: Section, above: string | undefined): void {
    if (section.struck) return;
    const name = (section.depth > 0 ? sectionNameOf(section.title) : undefined) ?? above;
    if (section.depth > 0)
      this.headings.push({ text: section.title, section: name, at: { file: this.#file, line: section.line } });
    this.#name = name;
    this.#heading = section.title;
    for (const block of section.blocks) this.#block(block, 'paragraph');
    for (const child of section.sections) this.section(child, name);
  }

  #block(node: RootContent, kind: Prose['kind']): void {
    if (node.type === 'paragraph') for (const part of this.#lines(node)) this.#add(part.text, part.line, kind);
    else if (node.type === 'list') this.#list(node);
    else if (node.type === 'blockquote') for (const child of node.children) this.#block(child, kind);
    else if (node.type === 'table') {
      for (const row of node.children.slice(1)) {
        const [subject = '', ...others] = row.children.map((cell) => cut(cell, this.#source));
        // Of two cells the first is the label of the other.
        if (others.length !== 1) this.#add(subject, lineOf(row), 'cell');
        for (const text of others) this.#add(text, lineOf(row), 'cell', plainText(subject), others.length === 1);
      }
    } else if (node.type === 'code' && /^(sql|psql|postgres\w*|tsql)$/i.test(node.lang ?? '')) {
      const text = { text: node.value, at: { file: this.#file, line: lineOf(node) + 1 } };
      const [, ids, type, container] = MEANING.exec(node.meta ?? '') ?? [];
      if (ids !== undefined && container !== undefined)
        this.meanings.push({ ...text, ids: patternIds(ids), container, ...(type !== undefined && { type }) });
    }
  }

  #list(list: List): void {
    for (const item of list.children) this.#item(item);
  }

  /** The text of an item includes its nested values, so that a label has all of them. */
  #item(item: ListItem): void {
    const [first, ...rest] = item.children;
    if (first?.type !== 'paragraph') {
      for (const child of item.children) this.#block(child, 'bullet');
      return;
    }
    const nested = rest.flatMap((child) =>
      child.type === 'list' ? child.children.map((sub) => sourceOf(sub, this.#source)) : [],
    );
    const own = this.#lines(first);
    for (const [index, part] of own.entries()) {
      const tail =
        index === own.length - 1
          ? nested.map((text) => `; ${text.replace(/^\s*(?:[-*+]|\d+[.)])\s+/, '')}`).join('')
          : '';
      if (item.checked !== null && item.checked !== undefined && index === 0)
        this.checks.push({
          ticked: item.checked,
          text: plainText(part.text),
          at: { file: this.#file, line: part.line },
        });
      this.#add(part.text + tail, part.line, 'bullet');
    }
    for (const child of rest) this.#block(child, 'bullet');
  }

  /** `pair`: a row of two cells is a label and its value. */
  #add(text: string, line: number, kind: Prose['kind'], subject?: string, pair = false): void {
    const match = LABEL.exec(text.trim());
    const label = match?.groups?.['bold']?.trim() ?? (pair ? subject : undefined);
    const value = plainText(match?.groups?.['value'] ?? text);
    if (value === '' && label === undefined) return;
    this.prose.push({
      text: value,
      ...(label !== undefined && { label: plainText(label) }),
      at: { file: this.#file, line },
      section: this.#name,
      heading: this.#heading,
      kind,
      ...(subject !== undefined && { subject }),
    });
  }

  /** Each bold-labelled line of a paragraph is a separate piece. */
  #lines(node: Paragraph): { text: string; line: number }[] {
    return sectionPartsOf(node, this.#source, /\r\n?|\n(?=\s*\*\*)/);
  }
}
