// The files that `model check --fix` changes, and what changes in them.
import { readFile } from 'node:fs/promises';
import { type Change, applyFixes } from '../../model/fix.ts';
import type { Report } from '../../model/rules/index.ts';
import type { Pair } from './pair.ts';

interface Fixed {
  readonly file: string;
  readonly text: string;
  readonly changes: readonly Change[];
}

/** Only the documents that change. */
export async function fixedFiles({ documents }: Pair, { findings }: Report): Promise<Fixed[]> {
  const fixes = findings.flatMap((finding) => finding.fixes ?? []);
  const files = [documents.requirements, documents.design].flatMap((document) => (document ? [document.file] : []));
  const all = await Promise.all(
    files.map(async (file) => ({ file, ...applyFixes(await readFile(file, 'utf8'), file, fixes) })),
  );
  return all.filter(({ changes }) => changes.length > 0);
}

/** `file:line`, and the line before and after. */
export const diffOf = (changes: readonly Change[], short: (file: string) => string): string[] =>
  changes.flatMap(({ at, before, after }) => [`${short(at.file)}:${at.line}`, `- ${before}`, `+ ${after}`]);
