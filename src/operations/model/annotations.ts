// The file of annotations beside a data model.
import { readFile } from 'node:fs/promises';
import type { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { type Annotations, annotationsOf } from '../../model/annotations/annotations.ts';
import { annotationsSchema } from '../../model/annotations/schema.ts';
import { modelError } from '../../model/errors.ts';
import { plainLines, readDocument } from '../../model/reader/source.ts';

/** `docs/orders.md` has its annotations in `docs/orders.annotations.json`. */
export const annotationsPath = (design: string): string => design.replace(/\.[^./\\]+$/, '.annotations.json');

/** Undefined if there is no such file. @throws UsageError `annotations-unreadable` */
export async function readAnnotations(design: string): Promise<Annotations | undefined> {
  const file = annotationsPath(design);
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw unreadable(file, messageOf(cause), cause);
  });
  if (text === undefined) return undefined;
  const parsed = annotationsSchema.safeParse(jsonOf(text, file));
  if (!parsed.success) throw unreadable(file, whatIsWrong(parsed.error), parsed.error);
  const lines = plainLines(await readDocument(design)).split('\n');
  return annotationsOf(parsed.data, lines, design, file);
}

function jsonOf(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw unreadable(file, messageOf(cause), cause);
  }
}

/** The first three mistakes, each with its place: `annotations.3.line: …`. */
function whatIsWrong({ issues }: z.ZodError): string {
  const shown = issues.slice(0, 3).map(({ path, message }) => `${path.join('.')}: ${message}`);
  return `${shown.join('; ')}${issues.length > 3 ? `; and ${issues.length - 3} more` : ''}`;
}

const unreadable = (file: string, why: string, cause: unknown) =>
  modelError('annotations-unreadable', `${file}: ${why}`, { cause });
