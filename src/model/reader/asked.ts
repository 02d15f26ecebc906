// The SQL that a document asks of a container outside the mapping: in fences, in tables, and in lists and labels.
import type { Nodes } from 'mdast';
import type { DocumentPair } from '../documents.ts';
import type { Query } from '../query.ts';
import type { Container } from '../model.ts';
import { normalised } from './text/labels.ts';
import { type Section, lineOf, sourceOf, within } from './text/outline.ts';
import { MEANING } from './text/prose.ts';
import { namedLike, onlyOne } from './owners.ts';
import { queryOf } from './sql.ts';
import { plainText } from './text/tables.ts';

/** The text says that a request reads several partitions, and doesn't deny it. */
export const saysCrossing = (text: string): boolean => CROSSES.test(text) && !DENIED.test(text);
const CROSSES = /cross[- ]partition|fan[- ]?out over|all partitions|full scan|跨分区/i;
const DENIED =
  /\b(no|not|never|avoids?|without|instead of|vs|than|unlike)\b[^.;]{0,20}(?:cross[- ]partition|full scan)|single[- ]partition/i;

/** "Cross-session queries" of a container with the key `/session_id`. */
function crossesKey(text: string, { partitionKey: [first = ''] }: Container): boolean {
  if (!/\bcross[- ]/i.test(text)) return false;
  const name = first.slice(1).replace(/_?id$/i, '');
  return /^\w+$/.test(name) && new RegExp(String.raw`\bcross[- ]${name}s?\b`, 'i').test(text);
}

/** All queries in a piece of prose or a table cell: in backticks, or written plainly. A lone WHERE counts as one. */
export function queriesIn(text: string): Query[] {
  const quoted = [...text.matchAll(/`([^`]+)`/g)].map((match) => match[1] ?? '');
  const plain = /\bSELECT\s[^]*?\bFROM\s[^`]*/i.exec(text.replaceAll(/`[^`]*`/g, ' '))?.[0];
  return [...quoted, ...(plain === undefined ? [] : [plain])].flatMap((piece) => {
    // A list of fields alone is no query.
    if (/^\s*SELECT\s/i.test(piece) && !/\bFROM\s/i.test(piece)) return [];
    const where = /^\s*WHERE\s/i.test(piece) ? `SELECT * FROM c ${aliased(piece.trim())}` : piece;
    return queryOf(where.replace(/[\s.;]+$/, '')) ?? [];
  });
}

/** `WHERE storeId = X` as the service would have it. */
const aliased = (where: string): string =>
  /\b[a-z]\w*\.\w/i.test(where)
    ? where
    : where.replaceAll(/(?<![\w@'"])([A-Za-z_]\w*)(?=\s*(?:[<>]=?|!?=|\b(?:IN|LIKE|BETWEEN)\b))/gi, 'c.$1');

/** An item or a line that is SQL, behind a label at most. In a sentence SQL may be denied, quoted or of the past. */
const IS_SQL = /^(?:\*\*[^*]+\*\*|[^`.]{1,60}:)?\W*`\s*(?:SELECT|WHERE)\b/i;

/** `skip`: the lines of rows that the mapping has. */
export function statedQuestionsOf(
  root: Section,
  source: string,
  file: string,
  containers: readonly Container[],
  skip: ReadonlySet<number>,
): DocumentPair[] {
  const asked: DocumentPair[] = [];
  // With tables of a relational database, a query that names no container may be of them.
  const alone = !/\bCREATE TABLE\b/i.test(source);
  for (const { sections, own } of grouped(root, containers)) {
    for (const section of sections) {
      let label = section.title;
      const visit = (node: Nodes): void => {
        const text = sourceOf(node, source);
        if (node.type === 'code') {
          // It says what an answer must be; no query asks it.
          if (MEANING.test(node.meta ?? '')) return;
          for (const { text: sql, comment, line, before, after } of statements(node.value))
            if (!OTHER_DATABASE.test(`${label} ${comment}`))
              add(sql, queryOf(sql), `${label} ${comment}`, lineOf(node) + 1 + line, {
                near: namedBefore(before, containers),
                scoped: SCOPED.test(after) || /stored procedure/i.test(label),
              });
        } else if (node.type === 'table') {
          for (const child of node.children.slice(1)) visit(child);
        } else if (node.type === 'tableRow') {
          if (!skip.has(lineOf(node))) row(node, text);
        } else if (node.type === 'paragraph') {
          if (/^\**[^.]{1,60}:\**\s*$/.test(text.trim())) label = text;
          if (IS_SQL.test(text.trim())) for (const query of queriesIn(text)) add(text, query, label, lineOf(node));
        } else if ('children' in node) for (const child of node.children) visit(child);
      };
      const row = (node: Nodes, text: string): void => {
        const cells = plainText(text.replaceAll('|', ' ; '));
        const queries = queriesIn(cells);
        const container = own ?? named(section.title, containers, alone);
        if (container && queries.length > 0)
          asked.push({
            container: container.name,
            text: cells,
            queries,
            crossing: saysCrossing(cells) || crossesKey(cells, container),
            at: { file, line: lineOf(node) },
          });
      };
      const add = (
        text: string,
        query: Query | undefined,
        about: string,
        line: number,
        { near, scoped = false }: { near?: Container | undefined; scoped?: boolean } = {},
      ): void => {
        const container =
          own ?? near ?? from(text, containers) ?? named(about, containers, alone) ?? byType(text, containers);
        if (query && container)
          asked.push({
            container: container.name,
            text,
            queries: [query],
            crossing: saysCrossing(`${about} ${text}`) || crossesKey(about, container),
            ...(scoped && { scoped }),
            at: { file, line },
          });
      };
      for (const block of section.blocks) visit(block);
    }
  }
  return asked;
}

/** The sections of each container, and all others. */
function grouped(root: Section, containers: readonly Container[]): { sections: Section[]; own?: Container }[] {
  const all = [...within(root)];
  const groups = containers.flatMap((own) => {
    const section = all.find(({ line, depth }) => depth > 0 && line === own.at.line);
    return section ? [{ own, sections: [...within(section)] }] : [];
  });
  const taken = new Set(groups.flatMap(({ sections }) => sections));
  return [...groups, { sections: all.filter((section) => !taken.has(section)) }];
}

/** The one container that a text names; `alone`: a text that names none is of the only one. */
function named(text: string, containers: readonly Container[], alone: boolean): Container | undefined {
  const words = ` ${spoken(text)} `;
  const found = containers.filter(({ name }) => words.includes(` ${spoken(name)} `));
  return found.length === 1 ? found[0] : alone ? onlyOne(containers) : undefined;
}

/** `users-and-social` is "Users & Social". */
const spoken = (text: string): string => normalised(text).replaceAll(/\band /g, '');

/** The container whose name stands last in quotes before a query, as in `container("orders").query(…)`. */
function namedBefore(code: string, containers: readonly Container[]): Container | undefined {
  const names = [...code.matchAll(/["'`]([\w-]+)["'`]/g)].map((match) => match[1] ?? '');
  return names
    .toReversed()
    .map((name) => containers.find((container) => container.name === name))
    .find((container) => container !== undefined);
}

/** `FROM orders o`: people write the container's name there, although the service takes any. */
function from(query: string, containers: readonly Container[]): Container | undefined {
  const name = /\bFROM\s+(\w+)\s+(?:AS\s+)?(?!WHERE\b|JOIN\b|ORDER\b|GROUP\b|OFFSET\b)\w+/i.exec(query)?.[1];
  return name === undefined ? undefined : containers.find((container) => container.name === name);
}

/** The one container that has the type of `c.type = 'order'`, or is called so. */
function byType(query: string, containers: readonly Container[]): Container | undefined {
  const type = /\b\w*type\s*=\s*['"]([^'"]+)['"]/i.exec(query)?.[1];
  if (type === undefined) return undefined;
  const found = containers.filter(({ types }) => types.some(({ name }) => name === type));
  return found.length === 1 ? found[0] : namedLike(type, containers);
}

/** `{ partitionKey: userId }` after a query, not `partition_key=None`. */
const SCOPED = /\bpartition_?key\b["']?\s*[:=]\s*(?!none\b|null\b|undefined\b|["'`]\/)(?:new\s+)?[\w"'`([]/i;
const OTHER_DATABASE =
  /\b(?:sqlite|postgres\w*|mysql|mariadb|sql server|azure sql|t-sql|oracle|bigquery|snowflake|kusto|mongo\w*)\b/i;

/** So many lines above a query may name its container. */
const NEAR = 6;

/** The SELECT statements of a fence with the comments above them; lines count from 0. */
function statements(code: string): { text: string; comment: string; line: number; before: string; after: string }[] {
  const found: { text: string; comment: string; line: number; before: string; after: string }[] = [];
  const lines = code.split('\n');
  const isComment = (line: string): boolean => /^\s*(--|\/\/|#)/.test(line);
  for (let at = 0; at < lines.length; at++) {
    const start = /(?:^|[\s("'`=])SELECT\s.*$/i.exec(lines[at] ?? '');
    if (!start || isComment(lines[at] ?? '')) continue;
    const end = new RegExp(/^["'`]/.exec(start[0])?.[0] ?? '[;`]|"""');
    const parts = [start[0].replace(/^[\s("'`=]+/, '')];
    const first = at;
    while (at + 1 < lines.length) {
      const next = lines[at + 1] ?? '';
      if (next.trim() === '' || isComment(next) || end.test(parts.at(-1) ?? '')) break;
      parts.push(next);
      at++;
    }
    const [text = ''] = parts.join('\n').split(end);
    // The line that opens a call, or a string over several lines, stands between the comment and the query.
    let above = first > 0 && /^[^#/]*(?:=\s*f?(?:"""|`|''')|\w\()\s*$/.test(lines[first - 1] ?? '') ? first - 1 : first;
    const until = above;
    while (above > 0 && isComment(lines[above - 1] ?? '')) above--;
    const last = found.at(-1)?.line ?? -1;
    const before = lines.slice(Math.max(last + 1, first - NEAR), first + 1).join('\n');
    // The options of the call stand before the next query.
    const rest = lines.slice(at, at + NEAR + 4);
    const next = rest.findIndex((line, index) => index > 0 && /\bSELECT\s/i.test(line));
    const after = rest.slice(0, next < 0 ? undefined : next).join('\n');
    found.push({ text, comment: lines.slice(above, until).join(' '), line: first, before, after });
  }
  return found;
}
