// The files that `model check --fix` changes, and what changes in them.
import { readFile } from 'node:fs/promises';
import { withProjections } from '../../contract/section.ts';
import { type TextFix, applyFixes } from '../../model/fix.ts';
import type { Report } from '../../model/rules/index.ts';
import type { ReadPair } from './pair.ts';

interface Fixed {
  readonly file: string;
  readonly text: string;
  readonly changes: readonly TextFix[];
}

/** Only the documents that change. The section of projections is written from the pipeline, if there is one. */
export async function fixedFiles({ documents, pipeline }: ReadPair, { findings }: Report): Promise<Fixed[]> {
  const fixes = findings.flatMap((finding) => finding.fixes ?? []);
  const { requirements, design } = documents;
  const files = [requirements, design].flatMap((document) => (document ? [document.file] : []));
  const all = await Promise.all(
    files.map(async (file) => {
      const fixed = applyFixes(await readFile(file, 'utf8'), file, fixes);
      if (!pipeline || file !== design?.file) return { file, ...fixed };
      // A fix keeps the number of lines, so the places of the design hold in the fixed text too.
      const text = withProjections(fixed.text, design, pipeline);
      return { file, text, changes: [...fixed.changes, ...changedLines(file, fixed.text, text)] };
    }),
  );
  return all.filter(({ changes }) => changes.length > 0);
}

/** The lines of one section that differ; what is added stands at the line where the section changes. */
function changedLines(file: string, before: string, after: string): TextFix[] {
  const [was, is] = [before, after].map((text) => text.split(/\r?\n/)) as [string[], string[]];
  const from = is.findIndex((line, at) => line !== was[at]);
  const [left, right] = [new Set(was), new Set(is)];
  const removed = was.flatMap((text, at) => (right.has(text) ? [] : [{ text, line: at + 1 }]));
  const added = is.filter((text) => !left.has(text));
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, at) => ({
    at: { file, line: removed[at]?.line ?? from + 1 },
    before: removed[at]?.text ?? '',
    after: added[at] ?? '',
  }));
}

/** `file:line`, and the line before and after. */
export const diffOf = (changes: readonly TextFix[], short: (file: string) => string): string[] =>
  changes.flatMap(({ at, before, after }) => [
    `${short(at.file)}:${at.line}`,
    ...(before === '' ? [] : [`- ${before}`]),
    ...(after === '' ? [] : [`+ ${after}`]),
  ]);
