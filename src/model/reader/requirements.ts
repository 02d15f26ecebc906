import type { DocumentDecision, Pair, Pattern, Relationship, Requirements, Text } from '../documents.ts';
import type { ModelFinding, SourceLine } from '../model.ts';
import { commonOf, outlineOf, skippedSections } from './common.ts';
import { type Section, within } from './text/outline.ts';
import { patternId } from './pattern-ids.ts';
import { bytesOf, numberAt, quantities, rate } from './text/quantity.ts';
import { requirementsSection, sectionNameOf } from './text/sections.ts';
import { parsed, plainLines, readMarkdown } from './text/source.ts';
import { type MarkdownRow, column, hasColumns, tablesOf } from './text/tables.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** Reads `cosmosdb_requirements.md`. Throws the errors of `readDocument` and `parseRequirements`. */
export const readRequirements = async (path: string): Promise<Requirements> =>
  parseRequirements(await readMarkdown(path), path);

const ID = ['pattern', 'id', '模式', '编号', '序号'];
/** Rates in two columns: a table of patterns only if it has the column that `model propose` reads. */
const PEAK = ['peak'];
const AVERAGE = ['average', 'avg', 'mean'];
const RATE = ['rps', 'rate', 'requests', 'qps', 'throughput', 'frequency', '每秒请求数'];

/** Throws UsageError `model-wrong` if no known section occurs. */
export const parseRequirements = (document: string, file: string): Requirements =>
  parsed(document, file, () => requirementsOf(document, file));

function requirementsOf(document: string, file: string): Requirements {
  const text = plainLines(document);
  const root = outlineOf(text, file);
  const all = [...within(root)].slice(1);
  if (!all.some((section) => requirementsSection(section.title))) {
    throw sharedError('model-wrong', `${file} is not a requirements document: it has none of the expected headings`, {
      hint: 'Name the `cosmosdb_requirements.md`, with a section `## Access Patterns Analysis`.',
    });
  }
  const common = commonOf(root, text, file);
  const findings: ModelFinding[] = [...common.findings];
  const patterns: Pattern[] = [];
  const pairs: Pair[] = [];
  for (const section of all) {
    for (const table of tablesOf(section.blocks, text, file)) {
      if (hasColumns(table, ID, RATE) || hasColumns(table, PEAK, AVERAGE, ['access'])) {
        for (const row of table.rows) if (!row.struck) patterns.push(...pattern(row, findings));
      } else if (hasColumns(table, ['parent', '父'], ['child', '子'])) {
        for (const row of table.rows) if (!row.struck) pairs.push(consolidation(row));
      } else if (!hasColumns(table, ['key', 'key range'], ['shard', 'shard location'])) {
        const message = `Millrace doesn't read the table with the columns ${table.headers.join(', ')}`;
        findings.push({ code: 'table-skipped', severity: 'information', message, at: { file, line: table.line } });
      }
    }
  }
  pairs.unshift(...analyses(common.prose, all));
  findings.push(...skippedSections(root, (title) => sectionNameOf(title) !== undefined, file));
  return {
    ...common,
    patterns,
    pairs,
    relationships: common.prose.filter((piece) => piece.section === 'relationships').flatMap(relationship),
    findings: findings.toSorted((a, b) => a.at.line - b.at.line),
  };
}

function pattern(row: MarkdownRow, findings: ModelFinding[]): Pattern[] {
  const printed = column(row, ID) ?? row.cells['#'] ?? '';
  const id = patternId(printed);
  if (id === undefined) {
    if (Object.values(row.cells).some((cell) => cell !== '' && !/^\W*$/.test(cell))) {
      const message = `A row of the pattern table has "${printed}" instead of a pattern number`;
      findings.push({
        code: 'pattern-id',
        severity: 'warning',
        message,
        hint: 'Write a number: 7, #7 or AP-7.',
        at: row.at,
      });
    }
    return [];
  }
  const rateText = ratesOf(row);
  const typeText = column(row, ['type', 'read write', 'operation', 'kind', '类型']) ?? '';
  const reads = /\bread|query|get|list|读|查/i.test(typeText);
  const writes = /\bwrit|create|update|delete|upsert|写/i.test(typeText);
  return [
    {
      id,
      printed,
      description: column(row, ['description', 'access pattern', 'name', 'what', '描述', '说明']) ?? '',
      rate: rate(rateText),
      rateText,
      type: reads && writes ? 'mixed' : reads ? 'read' : writes ? 'write' : undefined,
      attributes: column(row, ['attributes needed', 'attributes', 'fields', '所需属性', '属性']) ?? '',
      status: column(row, ['status', 'state', '状态']),
      cells: row.cells,
      at: row.at,
    },
  ];
}

/** The cell of the rates, or those of peak and average as one text. */
function ratesOf(row: MarkdownRow): string {
  const [peak, average] = [column(row, PEAK), column(row, AVERAGE)];
  const apart = peak !== undefined && average !== undefined && peak !== average;
  return apart ? [peak, average].filter((text) => text !== '').join('/') : (column(row, RATE) ?? peak ?? '');
}

/** `**User → Orders**: 1:Many (avg 5 orders per user, max 1000)`. */
function relationship({ label, text, at }: Text & { readonly label?: string }): Relationship[] {
  const [parent, child] = (label ?? text.split(/[::]/)[0] ?? '').split(/\s*(?:→|->|=>|➜|—>)\s*/);
  if (!parent || !child) return [];
  const average = numberAt(text, /\b(avg|average|about|typically)\b|平均/i);
  const max = numberAt(text, /\b(max|maximum|at most|up to)\b|最多|最大/i);
  return [
    {
      parent: parent.trim(),
      child: child.trim(),
      many: /1\s*:\s*(M|N|Many)|one.to.many|一对多/i.test(text),
      ...(average !== undefined && { average }),
      ...(max !== undefined && { max }),
      at,
    },
  ];
}

const UNBOUNDED =
  /unbounded|without (a )?bound|no (upper )?(bound|limit)|unlimited|grows? (forever|without)|无界|无限/i;

function decisionOf(text: string): DocumentDecision | undefined {
  if (/\bsplit\b|\bseparate|独立容器|分开|单独/i.test(text)) return 'separate';
  if (
    /multi[- ]?document|document types|same container|one container|✅ consolidate|\bconsolidate\b|多文档/i.test(text)
  )
    return 'multi';
  if (/single[- ]document|embed|one document|单文档|嵌入/i.test(text)) return 'single';
  return undefined;
}

const percent = (text: string): number | undefined => quantities(text).find(({ unit }) => unit === '%')?.high;

/** `200 lines × 0.2 KB`, or a largest size. */
const isSized = (text: string): boolean => quantities(text).some((quantity) => bytesOf(quantity) !== undefined);

function consolidation(row: MarkdownRow): Pair {
  const cell = (...names: string[]): string => column(row, names) ?? '';
  const decisionText = cell('consolidation decision', 'decision', '合并决策', '决策');
  const justification = cell('justification', 'reason', 'why', '理由');
  const relation = cell('relationship', '关系');
  const correlation = percent(cell('access overlap', 'overlap', '访问重叠'));
  const all = `${relation} ${decisionText} ${justification}`;
  return {
    parent: cell('parent', '父'),
    child: cell('child', '子'),
    ...(correlation !== undefined && { correlation }),
    decision:
      decisionOf(decisionText) ??
      (/❌/.test(decisionText) ? 'separate' : /✅/.test(decisionText) ? 'multi' : undefined),
    naturalParent: /1\s*:\s*(M|N|Many|1)|parent|一对多/i.test(relation),
    bounded: /\bbounded/i.test(all) && !UNBOUNDED.test(all),
    independent: INDEPENDENT.test(all),
    at: row.at,
    places: {},
  };
}

const INDEPENDENT =
  /independent(ly)? (operat|scal)|operated independently|scaled? independently|different (backup|scaling|retention)|独立运维/i;

const LABELS = {
  correlation: /access correlation|访问相关/i,
  patterns: /query patterns|查询模式/i,
  size: /size constraints|大小约束|大小限制/i,
  update: /update patterns|更新模式/i,
  decision: /^decision|^决策|^决定/i,
  justification: /justification|理由/i,
  childIndependent: /child independence|子实体独立/i,
  parentKnown: /^access pattern$|^访问模式$/i,
  current: /current design|当前设计/i,
  identifying: /^identifying relationship$/i,
} as const;

/** Each section `### [A + B] Container Item Analysis` is one pair. */
function analyses(
  prose: readonly (Text & { label?: string; heading: string; section: string | undefined })[],
  all: readonly Section[],
): Pair[] {
  const heads = all.filter(
    (section) => !section.struck && /\S\s*[+＋]\s*\S/.test(section.title) && /analysis|item|分析/i.test(section.title),
  );
  return heads.map((section) => {
    const next = all.find(
      (other) => other.line > section.line && (other.depth < section.depth || heads.includes(other)),
    );
    const own = prose.filter(
      ({ at, section: name }) => at.line > section.line && (!next || at.line < next.line) && name === 'pairs',
    );
    const piece = (name: keyof typeof LABELS) =>
      own.find(({ label }) => label !== undefined && LABELS[name].test(label));
    const [parent = '', child = ''] = section.title
      .replaceAll(/^[\d.\s]+|[[\]]|(container )?item analysis.*|聚合分析.*|分析.*/gi, '')
      .split(/\s*[+＋]\s*/)
      .map((name) => name.trim());
    const correlation = percent(piece('correlation')?.text ?? '');
    const shares = quantities(piece('patterns')?.text ?? '').flatMap(({ unit, high }) => (unit === '%' ? [high] : []));
    const [first, second, both] = shares;
    const sizeText = piece('size')?.text ?? '';
    const decisionText = piece('decision')?.text ?? '';
    const justification = piece('justification')?.text ?? '';
    const words = `${sizeText} ${piece('update')?.text ?? ''} ${decisionText} ${justification}`;
    const places: Partial<Record<'correlation' | 'decision' | 'identifying', SourceLine>> = {};
    for (const name of ['correlation', 'decision'] as const) {
      const at = piece(name)?.at;
      if (at) places[name] = at;
    }
    const childIndependence = piece('childIndependent');
    if (childIndependence) places.identifying = childIndependence.at;
    const yesOrNo = (text: string | undefined): boolean | undefined =>
      text === undefined
        ? undefined
        : /\bno\b|否|cannot|can't/i.test(text)
          ? false
          : /\byes\b|是/i.test(text)
            ? true
            : undefined;
    const independent = yesOrNo(childIndependence?.text);
    const known = yesOrNo(piece('parentKnown')?.text);
    const current = piece('current')?.text;
    return {
      parent,
      child,
      ...(correlation !== undefined && { correlation }),
      ...(first !== undefined && second !== undefined && { only: [first, second] }),
      ...(both !== undefined && { both }),
      decision: decisionOf(decisionText),
      naturalParent: true,
      bounded: !UNBOUNDED.test(words) && (/\bbounded/i.test(words) || isSized(sizeText)),
      independent: INDEPENDENT.test(words),
      ...(childIndependence && {
        identifying: {
          ...(independent !== undefined && { childIndependent: independent }),
          ...(known !== undefined && { parentKnown: known }),
          ...(current !== undefined && {
            crossPartition: /cross[- ]partition|\byes\b|跨分区/i.test(current) && !/\bno\b|not? cross/i.test(current),
          }),
        },
      }),
      at: { file: piece('decision')?.at.file ?? own[0]?.at.file ?? '', line: section.line },
      places,
    };
  });
}
