// Writes `## Change Feed Projections` from the pipeline. Rows that agree with the code stay unchanged, byte for byte.
import type { Design, ProjectionRow } from '../model/documents.ts';
import { factsOf } from '../model/rules/index.ts';
import { keyPathsOf } from '../model/model.ts';
import { hasName } from '../model/reader/names.ts';
import { type TableSpan, tableSpans } from '../model/reader/text/spans.ts';
import type { ArchiveSpec, DerivedSpec, Doc, Pipeline, ProjectionSpec } from '../pipeline/specs.ts';
import { differences, startIn } from './columns.ts';
import { type Compared, type Declared, Contract } from './declared.ts';
import { startOf } from '../pipeline/start.ts';
import { type Run, depends, groupOf, isWhole, outputsOf, traceFunctions } from './trace.ts';

const HEADERS = [
  'Projection',
  'Kind',
  'Source (type)',
  'Sink (type)',
  'Key mapping',
  'Fields / measures',
  'Serves',
  'Max lag',
  'Deletes',
  'Start',
] as const;

/** The document's text with the section written from the pipeline; the same text if they agree already. */
export function withProjections(document: string, design: Design, pipeline: Pipeline): string {
  const mark = document.startsWith('\uFEFF') ? '\uFEFF' : '';
  const text = document.slice(mark.length);
  const newline = text.includes('\r\n') ? '\r\n' : '\n';
  const contract = new Contract(pipeline, undefined);
  const span = tableSpans(text, design.file, 'projections')[0];
  if (!span && contract.declared.length === 0) return document;
  return mark + (span ? refreshed(text, span, design, contract, newline) : inserted(text, design, contract, newline));
}

function refreshed(text: string, span: TableSpan, design: Design, contract: Contract, newline: string): string {
  const facts = factsOf({ requirements: undefined, design });
  const matched = contract.matched(design.projections);
  let result = '';
  let from = 0;
  const seen = new Set<Declared>();
  for (const { line, start, end } of span.rows) {
    const row = design.projections.find(({ at }) => at.line === line);
    // A row without a version may be about several; what it doesn't say of one gets a row.
    const about = matched.filter((one) => one.row === row);
    const agreeing = about.filter(({ declared }) => row && agrees({ facts, contract, row, declared }));
    const [anew] = agreeing.length > 0 ? [] : about;
    for (const { declared } of anew ? [anew] : agreeing) seen.add(declared);
    result += text.slice(from, start);
    from = end;
    if (row && anew) result += rowText(cellsOf(anew.declared, contract, design, row), span.headers);
    else if (!row || agreeing.length > 0) result += text.slice(start, end);
    // A row without a projection is removed, with its line end.
    else result = result.replace(/\r?\n$/, '');
  }
  const added = contract.declared
    .filter((declared) => !seen.has(declared))
    .map((declared) => newline + rowText(cellsOf(declared, contract, design), span.headers));
  return result + added.join('') + text.slice(from);
}

/** Inserts the section after that of the mapping, or at the end. */
function inserted(text: string, design: Design, contract: Contract, newline: string): string {
  const head = [`| ${HEADERS.join(' | ')} |`, `|${HEADERS.map(() => '---|').join('')}`];
  const rows = contract.declared.map((declared) => rowText(cellsOf(declared, contract, design), HEADERS));
  const section = ['## Change Feed Projections', ...head, ...rows].join(newline);
  const mapping = design.headings.findLast(({ section: name }) => name === 'mapping');
  const next =
    mapping && design.headings.find(({ at, section: name }) => at.line > mapping.at.line && name !== 'mapping');
  if (!next) return `${text.trimEnd()}${newline}${newline}${section}${newline}`;
  const offset = offsetOf(text, next.at.line);
  return `${text.slice(0, offset)}${section}${newline}${newline}${text.slice(offset)}`;
}

function offsetOf(text: string, line: number): number {
  let offset = 0;
  for (let at = 1; at < line; at++) offset = text.indexOf('\n', offset) + 1;
  return offset;
}

type Cells = Readonly<Record<(typeof HEADERS)[number], string>>;

/** The cells in the order of the table's columns; unknown columns stay empty. */
function rowText(cells: Cells, headers: readonly string[]): string {
  const words = (header: string): string => header.toLowerCase().replaceAll(/[^a-z]/g, '');
  const cell = (header: string): string => {
    const name =
      HEADERS.find((own) => words(own) === words(header)) ??
      HEADERS.find(
        (own) =>
          words(header).length > 2 && (words(own).startsWith(words(header)) || words(header).startsWith(words(own))),
      );
    return name === undefined ? '' : cells[name].replaceAll('|', String.raw`\|`);
  };
  return `| ${headers.map(cell).join(' | ')} |`;
}

/** Whether a row contradicts the code in no column; then its words are kept. */
const agrees = (of: Compared): boolean => [...differences(of)].every(({ severity = 'error' }) => severity !== 'error');

/** Where a projection writes that writes into no container. */
export function outsideOf(spec: DerivedSpec): string {
  if (spec.kind === 'archive') return `blob:${spec.name}`;
  if (spec.kind === 'publish') return `hub:${spec.to}`;
  return spec.kind === 'table' ? `table:${spec.table}` : '';
}

const print = ({ container, type }: { container: string; type?: string }): string => `${container} (${type ?? ''})`;
const runsOf = (declared: Declared, { pipeline }: Contract, { model }: Design): readonly Run[] =>
  pipeline && isWhole(declared) ? traceFunctions(declared.spec, model, pipeline).runs : [];
const groupIn = (declared: Declared, contract: Contract, design: Design): string[] =>
  declared.spec.kind === 'aggregate' ? groupOf(declared.spec, runsOf(declared, contract, design)) : [];

function cellsOf(declared: Declared, contract: Contract, design: Design, row?: ProjectionRow): Cells {
  const { kind, from, joins, into, spec, maxLag, onDelete } = declared;
  const levels = into ? keyPathsOf(design.model, into.container).map((path) => path.slice(1)) : [];
  const group = groupIn(declared, contract, design);
  const stable = 'stable' in spec && spec.stable ? '; stable' : '';
  const keyed: Partial<Record<Declared['kind'], string>> = {
    aggregate: `[${(group.length > 0 ? group : levels).join(', ')}]${stable}`,
    archive:
      spec.kind === 'archive'
        ? `${[...(spec.tenantField === undefined ? [] : [spec.tenantField]), 'yyyy', 'mm'].join('/')} of ${spec.dateField}; id = id`
        : '',
    copy: `${levels.join(', ')}; id = id${stable}`,
    reference: levels.join(', '),
    embed:
      spec.kind === 'embed'
        ? Object.entries({ ...spec.on, ...spec.each?.on })
            .map(([theirs, ours]) => `${ours} = ${theirs}`)
            .join(', ')
        : '',
  };
  return {
    Projection: contract.label(declared),
    Kind: kind,
    'Source (type)': `${from ? print(from) : ''}${joins.length > 0 ? ` with ${joins.map(print).join(', ')}` : ''}${taking(spec)}`,
    'Sink (type)': into ? print(into) : outsideOf(spec),
    'Key mapping': keyed[kind] ?? '',
    'Fields / measures': fieldsOf(declared, contract, design, levels),
    Serves: (row?.serves ?? served(declared, design)).map((id) => `#${id}`).join(', '),
    'Max lag': maxLag ?? row?.lagText ?? '',
    Deletes:
      onDelete === 'keep' || kind === 'archive' || kind === 'publish'
        ? 'keep'
        : kind === 'aggregate'
          ? 'subtract'
          : 'remove',
    Start: startText(row, spec),
  };
}

/** The row's own word, unless the code begins elsewhere. */
function startText(row: ProjectionRow | undefined, spec: DerivedSpec): string {
  const code = startOf(spec);
  if (row?.start && (startIn(row.start) ?? startIn(code)) === startIn(code)) return row.start;
  return code === 'beginning' ? 'backfill' : code;
}

/** What G16 reads beside the source. A condition is a function, so a person must write its words. */
function taking(spec: DerivedSpec): string {
  if (spec.kind === 'aggregate' && spec.each) return ', each element';
  return spec.kind === 'copy' && spec.joins.some(({ missing }) => missing === 'wait') ? ', waits for it' : '';
}

function fieldsOf(declared: Declared, contract: Contract, design: Design, levels: readonly string[]): string {
  const { spec } = declared;
  if (spec.kind === 'aggregate')
    return Object.entries(spec.measures)
      .map(([field, measure]) => `${field} = ${measure.kind}`)
      .join('; ');
  if (spec.kind === 'embed') return Object.keys(spec.set).join(', ');
  if (spec.kind === 'archive') return archivedOf(spec);
  const [run] = runsOf(declared, contract, design);
  if (!run || !isWhole(declared)) return 'all';
  const plain = Object.keys(run.output).filter((field) => field !== 'id' && !levels.includes(field));
  return plain.map((field) => originOf(field, run, declared.spec)).join(', ');
}

/** What G9 compares with the code. */
function archivedOf({ rule, dateField, largerThan, keep }: ArchiveSpec): string {
  const aged =
    rule.kind === 'after'
      ? `${rule.text} after ${dateField}`
      : `${dateField} before ${rule.kind === 'before' ? rule.text : ''}`;
  const rules = [...(rule.kind === 'always' ? [] : [aged]), ...(largerThan ? [`larger than ${largerThan.text}`] : [])];
  return ['all', rules.join(', ') || 'where it says so', ...(keep ? [`kept for ${keep.text}`] : [])].join('; ');
}

/** `status`, or `customer.name → customerName` if the field is an unchanged copy of another one. */
function originOf(target: string, run: Run, spec: ProjectionSpec): string {
  const make = (source: Doc, joined: Run['joined']): unknown => outputsOf(spec, source, joined)[0]?.[target];
  const unchanged = (doc: Doc, field: string): boolean => doc[field] !== undefined && doc[field] === run.output[target];
  for (const field of [target, ...Object.keys(run.source)]) {
    if (unchanged(run.source, field) && depends(run.source, field, (doc) => make(doc, run.joined)))
      return field === target ? target : `${field} → ${target}`;
  }
  for (const [alias, doc] of Object.entries(run.joined)) {
    for (const field of Object.keys(doc ?? {})) {
      if (
        doc &&
        unchanged(doc, field) &&
        depends(doc, field, (changed) => make(run.source, { ...run.joined, [alias]: changed }))
      )
        return `${alias}.${field} → ${target}`;
    }
  }
  return target;
}

/** Patterns that the mapping reads from the sink; if rows name the projection's type, only those. */
function served({ into, name }: Declared, { mapping }: Design): string[] {
  // Without a sink container, a row that names the projection reads it.
  if (!into)
    return [
      ...new Set(
        mapping
          .filter(({ operationText, notes }) => hasName(`${operationText} ${notes}`, name))
          .flatMap(({ ids }) => ids),
      ),
    ];
  const rows = mapping.filter(
    ({ containers, operations }) =>
      containers.includes(into.container) &&
      operations.some((operation) => operation === 'point-read' || operation === 'query'),
  );
  const mine = rows.filter(({ queries, notes }) => {
    const text = `${queries.map((query) => query.text).join(' ')} ${notes}`;
    return new RegExp(String.raw`\b${into.type}\b`).test(text);
  });
  return [...new Set((mine.length > 0 ? mine : rows).flatMap(({ ids }) => ids))];
}
