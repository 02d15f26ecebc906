// The open questions of the documents, and where each answer is written. Everything else in them stays byte for byte.
import type { ContainerDetail, Documents, Prose } from '../../model/documents.ts';
import type { Place } from '../../model/model.ts';
import type { RuleId } from '../../model/rules/rule.ts';

export interface Question {
  /** `rps:3`, `ttl:Orders`: the key of an answer. */
  readonly id: string;
  /** The rule that needs the answer, or reports that it is missing. */
  readonly rule: RuleId;
  readonly ask: string;
  /** The form of an answer, for people. */
  readonly form: string;
  readonly at: Place;
}

interface Open extends Question {
  /** Writes the answer into the document's lines, which keep their line endings. */
  readonly answer: (lines: string[], text: string) => void;
  /** The pattern of an answer that becomes part of a sentence. */
  readonly pattern?: RegExp;
  /** Whether the reader understood the answer; needed where the label alone would close the question. */
  readonly understood?: (now: Documents) => boolean;
}

/** `220`, `2,400`, `10 million`. */
const NUMBER = /^\d[\d,.]*\s*(k|thousand|million)?$/i;
/** `5.5 %`, `1,200 RU/s`. */
const SHARE = /\d[\d,.]*\s*(?:%|RU\/s)/i;
const LEVEL = /^(strong|bounded[ -]staleness|session|consistent[ -]prefix|eventual)$/i;
const RATE = /rps|rate|requests|qps|throughput|frequency|每秒请求数/i;
const KEY = /^(hierarchical )?partition key|^pk$|^分区键/i;

/** The open questions, the most important first. */
export const openQuestions = ({ requirements, design }: Documents): Open[] => [
  ...(requirements?.patterns ?? []).flatMap((pattern): Open[] => {
    if (pattern.rate?.peak !== undefined || pattern.rate?.average !== undefined) return [];
    const cell = Object.keys(pattern.cells).findIndex((header) => RATE.test(header));
    const ask = `How many requests a second does pattern ${pattern.printed}, "${pattern.description}", have?`;
    const form = 'peak/average, such as 50/20, or one figure';
    const answer = (lines: string[], text: string): void =>
      change(lines, pattern.at, (line) => withCell(line, cell, text));
    return cell < 0 ? [] : [{ id: `rps:${pattern.id}`, rule: 'A1', ask, form, at: pattern.at, answer }];
  }),
  ...(requirements?.relationships ?? []).flatMap(({ parent, child, many, max, at }): Open[] => {
    if (!many || max !== undefined) return [];
    const answer = (lines: string[], text: string): void => change(lines, at, (line) => withMax(line, text));
    const ask = `How many ${child} can one ${parent} have at most?`;
    return [
      { id: `max:${parent} → ${child}`, rule: 'C3', ask, form: 'a number, such as 2,400', pattern: NUMBER, at, answer },
    ];
  }),
  ...(design?.containers ?? []).flatMap(ofContainer),
];

function ofContainer(detail: ContainerDetail): Open[] {
  const { container, prose, cardinality, size } = detail;
  const { name } = container;
  const key = prose.find(
    ({ kind, label, at }) =>
      kind === 'bullet' && KEY.test(label ?? '') && at.line === container.places.partitionKey?.line,
  );
  // Without the bullet of the key there is no place where the reader surely finds an answer.
  if (!key) return [];
  const open: Open[] = [];
  const bullet = (
    id: string,
    rule: RuleId,
    label: string,
    ask: string,
    form: string,
    understood: Open['understood'] = () => true,
    pattern?: RegExp,
  ): void => {
    const answer = (lines: string[], text: string): void => addBullet(lines, key, `**${label}**: ${text}`);
    open.push({ id: `${id}:${name}`, rule, ask, form, at: key.at, answer, understood, ...(pattern && { pattern }) });
  };
  const says = (pattern: RegExp): boolean => prose.some(({ label }) => pattern.test(label ?? ''));
  if (cardinality === undefined && !/high cardinality|guid|uuid|unique/i.test(key.text))
    open.push({
      id: `keys:${name}`,
      rule: 'C2',
      ask: `How many values does the partition key ${container.partitionKey.join(', ')} of ${name} have?`,
      form: 'a number, such as 220',
      pattern: NUMBER,
      at: key.at,
      answer: (lines, text) => change(lines, key.at, (line) => `${line.trimEnd()} - ${text} values`),
    });
  // In a container with the key /id every document has its own key.
  if (detail.hot.length === 0 && !SHARE.test(key.text) && container.partitionKey.join() !== '/id')
    open.push({
      id: `hot:${name}`,
      rule: 'C4',
      ask: `How much of the load of ${name} does the busiest value of ${container.partitionKey.join(', ')} take?`,
      form: 'a share or a rate, such as 5.5 % or 300 RU/s',
      pattern: new RegExp(String.raw`^${SHARE.source}$`, 'i'),
      at: key.at,
      answer: (lines, text) => change(lines, key.at, (line) => `${line.trimEnd()}; the busiest takes ${text}`),
    });
  if (!container.throughput && !says(/throughput|ru planning|吞吐量/i))
    bullet(
      'throughput',
      'B11',
      'Throughput Planning',
      `What throughput does ${name} have?`,
      'autoscale max 4,000 RU/s, manual 400 RU/s, or serverless',
    );
  if (container.defaultTtl === undefined && !says(/ttl|time to live|生存时间/i))
    bullet(
      'ttl',
      'E7',
      'TTL',
      `When do documents of ${name} expire?`,
      '30 days, 3600, -1 if only some expire, or none',
    );
  if (!size.stated && !says(/size|storage|volume/i)) {
    const stated = ({ design }: Documents): boolean =>
      design?.containers.some((now) => now.container.name === name && now.size.stated) ?? false;
    bullet('size', 'B1', 'Document Size', `How large are the documents of ${name}?`, 'avg 1 KB, max 4 KB', stated);
  }
  if (!says(/consistency|一致性/i))
    bullet(
      'consistency',
      'B16',
      'Consistency Level',
      `With which consistency level is ${name} read?`,
      'Strong, Bounded Staleness, Session, Consistent Prefix or Eventual',
      undefined,
      LEVEL,
    );
  return open;
}

function change(lines: string[], { line }: Place, by: (line: string) => string): void {
  const text = lines[line - 1] ?? '';
  const end = text.endsWith('\r') ? '\r' : '';
  lines[line - 1] = by(end === '' ? text : text.slice(0, -1)) + end;
}

/** The row with the cell of that index replaced. A row may start without a bar, or end before the cell. */
function withCell(row: string, cell: number, text: string): string {
  const bars = [...row.matchAll(/(?<!\\)\|/g)].map(({ index }) => index);
  const leading = row.trimStart().startsWith('|');
  const from = leading ? cell : cell - 1;
  if (from >= bars.length) return row;
  const start = from < 0 ? 0 : (bars[from] ?? 0) + 1;
  return `${row.slice(0, start)}${start === 0 ? '' : ' '}${text} ${row.slice(bars[from + 1] ?? row.length)}`;
}

/** `(avg 5 orders)` becomes `(avg 5 orders, max 9)`. */
function withMax(line: string, text: string): string {
  const close = /\([^()]*\b(?:avg|average|about|typically)\b[^()]*\)|([^()]*平均[^()]*)/i.exec(line);
  if (!close) return `${line.trimEnd()} (max ${text})`;
  const at = close.index + close[0].length - 1;
  return `${line.slice(0, at)}, max ${text}${line.slice(at)}`;
}

/** Adds a bullet after the bullet of the key and its indented lines, with the same indent, mark and line ending. */
function addBullet(lines: string[], { at }: Prose, text: string): void {
  const own = lines[at.line - 1] ?? '';
  const [, indent = '', mark = '-'] = /^(\s*)([-*+])/.exec(own) ?? [];
  let after = at.line;
  while (/^\s+\S/.test(lines[after] ?? '') && indentOf(lines[after] ?? '') > indent.length) after += 1;
  lines.splice(after, 0, `${indent}${mark} ${text}${own.endsWith('\r') ? '\r' : ''}`);
}

const indentOf = (line: string): number => line.length - line.trimStart().length;
