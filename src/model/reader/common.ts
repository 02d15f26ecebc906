// The parts that both documents have: prose, checks, waivers, a shard map.
import { sharedError } from '../../base/shared-errors.ts';
import type { UsageError } from '../../base/errors.ts';
import type { ModelFinding } from '../model.ts';
import { tooDeepAt } from './text/depth.ts';
import { type Section, outline } from './text/outline.ts';
import { piecesOf } from './text/prose.ts';
import { shardMapsOf } from './shard-maps.ts';
import type { Waiver } from '../documents.ts';
import { waiversOf } from './waivers.ts';

/** @throws UsageError `model-wrong`; `model-wrong` for Markdown or JSON that is nested too deeply to parse */
export function outlineOf(text: string, file: string): Section {
  const line = tooDeepAt(text);
  if (line !== undefined) throw tooDeep(`${file}, line ${line}, can't be read: it is nested too deep`);
  try {
    return outline(text, file);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw tooDeep(`${file} can't be read: its lists or quotes are nested too deep`, cause);
  }
}

const tooDeep = (message: string, cause?: unknown): UsageError =>
  sharedError('model-wrong', message, {
    hint: 'Reduce the nesting; a modelling document needs about three levels.',
    cause,
  });

export const titleOf = (root: Section): string => root.sections.find((section) => section.depth === 1)?.title ?? '';

/** The waivers of a document in which nothing else is read. */
export const waiversIn = (text: string, file: string): Waiver[] =>
  waiversOf(outlineOf(text, file), text.split('\n').length, file).waivers;

export function commonOf(root: Section, text: string, file: string) {
  const lines = text.split(/\r\n|\r|\n/);
  const { waivers, findings } = waiversOf(root, lines.length, file);
  const { prose, headings, checks, meanings } = piecesOf(root, text, file);
  return {
    file,
    title: titleOf(root),
    prose,
    headings,
    checks,
    meanings,
    waivers,
    lines,
    shardMaps: shardMapsOf(root, prose, text, file),
    findings,
  };
}

/** Sections of the second level that the reader doesn't read. */
export const skippedSections = (root: Section, known: (title: string) => boolean, file: string): ModelFinding[] =>
  root.sections
    .flatMap((section) => (section.depth === 1 ? section.sections : [section]))
    .filter((section) => !section.struck && !known(section.title))
    .map(({ title, line }) => ({
      code: 'section-skipped',
      severity: 'information',
      message: `Millrace doesn't read the section "${title}"`,
      at: { file, line },
    }));
