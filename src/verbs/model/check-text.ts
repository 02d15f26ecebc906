// A report for the terminal: by group, each finding with its line of the document and a caret.
import { styleText } from 'node:util';
import type { TextFix } from '../../model/fix.ts';
import type { ModelFinding, SourceLine } from '../../model/model.ts';
import { type NotChecked, type Report, compareIds } from '../../model/rules/index.ts';
import type { RuleFinding, Severity } from '../../model/rules/rule.ts';
import { plural } from '../../procedures/table.ts';
import type { About } from './about.ts';
import { diffOf } from './fix.ts';
import type { Graph } from './graph.ts';
import { DESIGN_FILE } from './pair.ts';

/** A finding with its line of the document, and what it is about. */
export interface ShownFinding extends RuleFinding, About {
  readonly source?: string;
}

/** The result of `model check`; paths are relative to the working directory. */
export interface Checked {
  readonly findings: readonly ShownFinding[];
  readonly notChecked: readonly NotChecked[];
  readonly waived: readonly {
    readonly finding: RuleFinding;
    readonly until: string;
    readonly reason: string;
    readonly at: SourceLine;
  }[];
  /** The number of concerns of a review. Absent: there is no review. */
  readonly concerns?: number;
  readonly reading: readonly ModelFinding[];
  /** What `--fix` changed. */
  readonly fixed: readonly TextFix[];
  readonly folder: string;
  /** For a drawing. Absent: neither a document nor code was read. */
  readonly graph?: Graph;
  /** Whether the text lists every rule that found nothing to check, or only those that lack a whole document. */
  readonly unchecked: boolean;
  /** Absent: there is a document. */
  readonly undocumented?: true;
  /** The number of rules that were run. */
  readonly rules: number;
  readonly counts: Readonly<Record<Severity, number>>;
}

export const GROUPS: Readonly<Record<string, string>> = {
  A: 'Completeness and agreement',
  B: 'Sizes, RU and cost',
  C: 'Keys',
  D: 'Aggregates',
  E: 'Indexes and time to live',
  F: 'Change feed',
  G: 'Contract of code and document',
  H: 'Tenancy',
  I: 'Shard map',
  K: 'Concerns of a review',
};

const COLOURS = { error: 'red', warning: 'yellow', information: 'cyan' } as const;
type Style = Parameters<typeof styleText>[0];
const style = (format: Style, text: string): string => styleText(format, text, { stream: process.stdout });

export const counts = ({ findings, reading }: Report): Record<Severity, number> => {
  const result = { error: 0, warning: 0, information: 0 };
  for (const { severity } of [...findings, ...reading]) result[severity]++;
  return result;
};

const placed = ({ file, line }: SourceLine): string => `${file}:${line}`;

export function checkText(checked: Checked): string {
  const out: string[] = [];
  if (checked.fixed.length > 0) {
    out.push(style('bold', 'Fixed'));
    out.push(...diffOf(checked.fixed, (file) => file).map((line) => `  ${line}`), '');
  }
  for (const [group, findings] of Map.groupBy(checked.findings, ({ rule }) => rule.charAt(0))) {
    out.push(style('bold', `${group}  ${GROUPS[group] ?? ''}`));
    for (const finding of findings) out.push(...one(finding), '');
  }
  const lenient = checked.reading;
  if (lenient.length > 0) {
    out.push(style('bold', 'Reading'));
    for (const { severity, message, hint, at: place } of lenient)
      out.push(
        `  ${style(COLOURS[severity], severity.padEnd(11))} ${placed(place)}  ${message}${hint === undefined ? '' : style('dim', `  ${hint}`)}`,
      );
    out.push('');
  }
  if (checked.waived.length > 0) {
    out.push(style('bold', 'Waived'));
    for (const { finding, until, reason } of checked.waived)
      out.push(`  ${finding.rule.padEnd(4)} ${placed(finding.at)}  until ${until}: ${reason}`);
    out.push('');
  }
  const listed = checked.unchecked ? checked.notChecked : checked.notChecked.filter(({ whole }) => whole);
  if (listed.length > 0) {
    out.push(style('bold', 'Not checked, because this is missing'));
    for (const [what, entries] of Map.groupBy(listed, ({ missing }) => missing)) {
      const ids = [...new Set(entries.map(({ rule }) => rule))].toSorted(compareIds);
      out.push(style('dim', `  ${what}: ${ids.join(' ')}`));
    }
    out.push('');
  }
  out.push(summary(checked));
  return out.join('\n');
}

function summary({
  counts: { error, warning, information },
  waived,
  rules,
  notChecked,
  unchecked,
  folder,
  concerns,
  undocumented,
}: Checked): string {
  const not = new Set(notChecked.map(({ rule }) => rule)).size;
  const found = [
    error > 0 ? style('red', plural(error, 'error')) : '',
    warning > 0 ? style('yellow', plural(warning, 'warning')) : '',
    information > 0 ? `${information} for information` : '',
  ].filter(Boolean);
  const total = found.length === 0 ? style('green', 'no findings') : found.join(', ');
  if (undocumented) return `${folder}: ${total}; there is no ${DESIGN_FILE}, so nothing was compared with one`;
  const reviewed = concerns === undefined ? '' : `; a review with ${plural(concerns, 'concern')}`;
  return `${folder}: ${total}; ${plural(rules, 'rule')}, ${not} of them not fully checked${not > 0 && !unchecked ? ' (--unchecked lists them)' : ''}, ${waived.length} waived${reviewed}`;
}

function one({ rule, severity, message, words, at: place, evidence, hint, related, source }: ShownFinding): string[] {
  const out = [
    `  ${style(COLOURS[severity], severity)} ${style('bold', rule)}  ${style('dim', placed(place))}`,
    `    ${message}`,
  ];
  if (source !== undefined && source.trim() !== '') {
    const { text, from, length } = excerpt(source, message, words);
    const number = String(place.line);
    out.push(
      style('dim', `    ${number} │ ${text}`),
      `    ${' '.repeat(number.length)} ${style('dim', '│')} ${' '.repeat(from)}${style(COLOURS[severity], '^'.repeat(length))}`,
    );
  }
  if (evidence !== undefined) out.push(`    ${style('dim', 'because')} ${evidence}`);
  if (related && related.length > 0) out.push(`    ${style('dim', 'see')} ${placesOf(related)}`);
  if (hint !== undefined) out.push(`    ${style('dim', 'hint')} ${hint}`);
  return out;
}

/** `m.md:56–59, pipeline.ts:26`: lines that follow each other are one place. */
function placesOf(related: readonly SourceLine[]): string {
  const runs: { file: string; from: number; to: number }[] = [];
  for (const { file, line } of related) {
    const last = runs.at(-1);
    if (last?.file === file && last.to + 1 === line) last.to = line;
    else runs.push({ file, from: line, to: line });
  }
  return runs.map(({ file, from, to }) => placed({ file, line: from }) + (to > from ? `–${to}` : '')).join(', ');
}

const WIDTH = 100;

/** The part of the line around `about`, else around the longest word that the line shares with the message. */
export function excerpt(line: string, message: string, about?: string): { text: string; from: number; length: number } {
  const words = [...new Set(message.match(/[\p{L}\p{N}_/.,%-]{2,}/gu) ?? [])]
    .map((word) => word.replace(/^[.,-]+|[.,-]+$/g, ''))
    .filter((word) => word.length > 1);
  // Names, numbers and paths show the place better than the message's common lower-case words.
  const distinctive = words.filter((word) => /[A-Z\d/_]/.test(word)).toSorted((a, b) => b.length - a.length);
  const word = [
    ...(about === undefined ? [] : [about]),
    ...distinctive,
    ...words.filter((other) => other.length > 4),
  ].find((candidate) => find(line, candidate) >= 0);
  const start = word === undefined ? line.search(/\S/) : find(line, word);
  const length = word?.length ?? Math.max(1, Math.min(line.trim().length, WIDTH - 2));
  const cut = start + length > WIDTH ? Math.max(0, start - 40) : 0;
  const lead = cut > 0 ? '…' : '';
  const text = lead + line.slice(cut, cut + WIDTH) + (line.length > cut + WIDTH ? '…' : '');
  return {
    text,
    from: width(lead + line.slice(cut, start)),
    length: Math.max(1, width(line.slice(start, start + length))),
  };
}

function find(line: string, word: string): number {
  for (let at = line.indexOf(word); at >= 0; at = line.indexOf(word, at + 1)) {
    if (!/[\p{L}\p{N}_]/u.test(line[at - 1] ?? ' ') && !/[\p{L}\p{N}_]/u.test(line[at + word.length] ?? ' ')) return at;
  }
  return -1;
}

/** Columns on a terminal: wide characters take two. */
const width = (text: string): number =>
  Array.from(text).reduce(
    (sum, char) =>
      sum +
      (/[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F900}-\u{1F9FF}✅]/u.test(
        char,
      )
        ? 2
        : 1),
    0,
  );
