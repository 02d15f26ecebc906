// Reads waivers: `<!-- millrace-ignore B10 until 2027-01: admin only -->`, in all places where Markdown has HTML comments.
import type { Nodes } from 'mdast';
import type { Waiver } from '../documents.ts';
import type { ModelFinding } from '../model.ts';
import { type Section, lineOf, within } from './text/outline.ts';

const COMMENT = /<!--\s*millrace-ignore\b([^]*?)-->/g;
const FORM =
  /^\s+(?<rules>[A-Z]\d{1,2}(?:\s*,\s*[A-Z]\d{1,2})*)\s*(?:until\s+(?<until>[\d-]+))?\s*(?::\s*(?<reason>[^]*?))?\s*$/i;
const FORM_HINT = 'Write <!-- millrace-ignore B10 until 2027-01: why -->.';

/**
 * A waiver in a table row or a list item applies to that row or item. Above the first heading of the second level, it
 * applies to the whole document. In other places it applies to its section, with all sections below.
 */
export function waiversOf(
  root: Section,
  lastLine: number,
  file: string,
): { waivers: Waiver[]; findings: ModelFinding[] } {
  const waivers: Waiver[] = [];
  const findings: ModelFinding[] = [];
  const sections = [...within(root)];
  for (const [index, section] of sections.entries()) {
    const stated = [...comments(section)];
    if (stated.length === 0) continue;
    const next = sections.slice(index + 1).find(({ depth }) => depth <= section.depth);
    const to = section.depth <= 1 || !next ? lastLine : next.line - 1;
    const from = section.depth <= 1 ? 1 : section.line;
    for (const { text, line, own } of stated) {
      for (const match of text.matchAll(COMMENT)) {
        const at = { file, line: line + text.slice(0, match.index).split('\n').length - 1 };
        const groups = FORM.exec(match[1] ?? '')?.groups;
        if (!groups) {
          findings.push({
            code: 'waiver-malformed',
            severity: 'warning',
            message: 'This waiver names no rule, so it waives nothing',
            hint: FORM_HINT,
            at,
          });
          continue;
        }
        const until = expiry(groups['until']);
        const reason = groups['reason'] ?? '';
        if (until === undefined || reason === '') {
          const message = `The waiver of ${groups['rules']} has no ${until === undefined ? 'date' : 'reason'}, so it waives nothing`;
          findings.push({ code: 'waiver-malformed', severity: 'warning', message, hint: FORM_HINT, at });
          continue;
        }
        for (const rule of (groups['rules'] ?? '').split(/\s*,\s*/))
          waivers.push({ rule: rule.toUpperCase(), until, reason, at, ...(own ?? { from, to }) });
      }
    }
  }
  return { waivers, findings };
}

/** `2027-01` ends with that month, `2027-01-15` with that day. */
function expiry(text: string | undefined): number | undefined {
  const [, year, month, day] = /^(\d{4})-(\d\d)(?:-(\d\d))?$/.exec(text ?? '') ?? [];
  if (year === undefined || month === undefined || Number(month) < 1 || Number(month) > 12) return undefined;
  return day === undefined
    ? Date.UTC(Number(year), Number(month), 1)
    : Date.UTC(Number(year), Number(month) - 1, Number(day) + 1);
}

interface Comment {
  readonly text: string;
  readonly line: number;
  /** Lines of the row or item that contains it. */
  readonly own: { readonly from: number; readonly to: number } | undefined;
}

function* comments(section: Section): Generator<Comment> {
  const walk = function* (node: Nodes, own: Comment['own']): Generator<Comment> {
    if (node.type === 'html') yield { text: node.value, line: lineOf(node), own };
    const inner = node.type === 'tableRow' || node.type === 'listItem';
    const lines = inner ? { from: lineOf(node), to: node.position?.end.line ?? lineOf(node) } : own;
    if ('children' in node) for (const child of node.children) yield* walk(child, lines);
  };
  for (const block of section.blocks) yield* walk(block, undefined);
}
