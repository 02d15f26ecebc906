// Reads the document's projections: rows of a table, headings with bullets, or a `Derived From` bullet of a container.
import type { ProjectionRow, Prose, Reference } from '../documents.ts';
import type { SourceLine } from '../model.ts';
import { patternIds } from './pattern-ids.ts';
import { duration } from './text/quantity.ts';
import { type MarkdownRow, type Table, column, hasColumns } from './text/tables.ts';

export const isProjections = (table: Table): boolean =>
  hasColumns(table, ['projection', 'name', '投影'], ['source', 'source type', '来源', '源']);

const CELLS = {
  name: ['projection', 'name', '投影'],
  kind: ['kind', 'type', '种类', '类型'],
  source: ['source', 'source type', 'from', '来源', '源'],
  sink: ['sink', 'sink type', 'target', 'into', '目标'],
  key: ['key mapping', 'key', '键映射', '键'],
  fields: ['fields measures', 'fields', 'measures', '字段'],
  serves: ['serves', 'access patterns served', 'patterns', '服务模式'],
  lag: ['max lag', 'lag', '最大延迟', '延迟'],
  deletes: ['deletes', 'on delete', '删除'],
  start: ['start', 'start from', '起点', '开始'],
  lease: ['lease', 'leases', 'lease container', 'lease prefix', '租约'],
} as const;
type Cell = keyof typeof CELLS;

export const projectionOf = (row: MarkdownRow): ProjectionRow => build((cell) => column(row, CELLS[cell]), row.at);

/** `### customer-name` with bullets Source, Sink, …; or `- **Derived From**: Orders (order) by customer-name, copy`. */
export function projectionFromBullets(name: string, bullets: readonly Prose[], at: SourceLine): ProjectionRow {
  const value = (cell: Cell): string | undefined => {
    if (cell === 'name') return name;
    const names: readonly string[] = CELLS[cell];
    return bullets.find(
      ({ label }) =>
        label !== undefined &&
        names.some((synonym) =>
          label
            .toLowerCase()
            .replaceAll(/[^\p{L}]+/gu, ' ')
            .trim()
            .startsWith(synonym),
        ),
    )?.text;
  };
  return build(value, at);
}

export function projectionDerivedFrom(container: string, text: string, at: SourceLine): ProjectionRow {
  const name =
    /\bby (?:the )?(?:projection )?`?([a-z0-9]+(?:-[a-z0-9]+)+)`?/i.exec(text)?.[1] ?? container.toLowerCase();
  const kind = /\b(copy|embed|aggregate|archive|react|table|publish)\b/i.exec(text)?.[1]?.toLowerCase() ?? '';
  return build((cell) => ({ name, kind, source: text, sink: container } as Partial<Record<Cell, string>>)[cell], at);
}

const REFERENCE = /([\p{L}_][\p{L}\p{N}_-]*)\s*\(([\p{L}_][\p{L}\p{N}_-]*)\)/gu;

function references(text: string): Reference[] {
  const found = [...text.replaceAll('`', '').matchAll(REFERENCE)].map((match) => ({
    container: match[1] ?? '',
    type: match[2] ?? '',
  }));
  if (found.length > 0) return found;
  const word = /^\W*([\p{L}_][\p{L}\p{N}_-]*)/u.exec(text)?.[1];
  return word === undefined ? [] : [{ container: word }];
}

function build(cell: (name: Cell) => string | undefined, at: SourceLine): ProjectionRow {
  const [sourceText, sinkText, fieldsText] = [cell('source') ?? '', cell('sink') ?? '', cell('fields') ?? ''];
  const kind = (cell('kind') ?? '').replaceAll('`', '').trim().toLowerCase();
  const [source, ...joins] = references(sourceText);
  const blob =
    /\bblob\b/i.test(sinkText) || kind === 'archive' || kind === 'publish' || kind === 'react' || kind === 'table';
  const lagText = cell('lag') ?? '';
  const lagMs = duration(lagText);
  const as = /^as ([a-z0-9]+(?:-[a-z0-9]+)*)\b/i.exec(fieldsText)?.[1];
  const lease = cell('lease');
  const keyText = cell('key') ?? '';
  const [, name = '', version] = /^(.*?)(?:@(\d+))?$/s.exec((cell('name') ?? '').replaceAll('`', '').trim()) ?? [];
  return {
    name: name.trim(),
    ...(version !== undefined && { version: Number(version) }),
    kind,
    source,
    joins,
    sourceText,
    sink: blob ? undefined : references(sinkText)[0],
    sinkText,
    keyText,
    keys: keysOf(keyText),
    fieldsText,
    pairs:
      kind === 'aggregate'
        ? []
        : [...fieldsText.matchAll(/([\p{L}_][\w.]*)\s*(?:→|->|=>)\s*([\p{L}_][\w.]*)/gu)].map((match) => ({
            from: match[1] ?? '',
            to: match[2] ?? '',
          })),
    measures: kind === 'aggregate' && as === undefined ? measuresOf(fieldsText) : [],
    ...(as !== undefined && { as }),
    serves: patternIds(cell('serves') ?? ''),
    ...(lagMs !== undefined && { lagMs }),
    lagText,
    deletes: cell('deletes') ?? '',
    start: cell('start') ?? '',
    ...(lease !== undefined && { lease }),
    at,
  };
}

/** `[storeId, day]`, `storeId, sku; id = id`, `Orders.customerId = id`, `storeId/yyyy/mm`: the names of the sink's fields. */
function keysOf(text: string): string[] {
  const [levels = ''] = text.replaceAll(/[`[\]]/g, '').split(';');
  return levels
    .split(/\s*[,+]\s*/)
    .map((part) => /^(?:[\p{L}_]\w*\.)?([\p{L}_]\w*)/u.exec(part.trim())?.[1] ?? '')
    .filter((name) => name !== '');
}

function measuresOf(text: string): ProjectionRow['measures'][number][] {
  return text
    .split(/\s*;\s*|,\s*(?![^(]*\))/)
    .filter((part) => part.trim() !== '')
    .flatMap((part) => {
      const named = /^`?([\p{L}_]\w*)`?\s*=\s*`?(count|sum|avg|average|min|max|\w+)/iu.exec(part);
      const of = (match: RegExpExecArray): string => part.slice(match[0].length).replaceAll('`', '').trim();
      if (named)
        return [{ field: named[1] ?? '', kind: named[2]?.toLowerCase().replace('average', 'avg'), of: of(named) }];
      const bare = /^`?(count|sum|avg|min|max)\b/i.exec(part);
      return bare ? [{ field: '', kind: bare[1]?.toLowerCase(), of: of(bare) }] : [];
    });
}
