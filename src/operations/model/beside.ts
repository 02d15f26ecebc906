// JSON files beside a data model that somebody wrote who read it.
import { readFile, readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { z } from 'zod';
import { messageOf } from '../../base/errors.ts';
import { modelError } from '../../model/errors.ts';

/** Of `docs/orders.md` the part `annotations` is in `docs/orders.annotations.json`. */
export const pathBeside = (design: string, part: string): string => design.replace(/\.[^./\\]+$/, `.${part}.json`);

type Unreadable = 'annotations-unreadable' | 'review-unreadable';

/** Undefined if there is no such file. @throws UsageError with `code` */
export async function readBeside<S extends z.ZodType>(
  file: string,
  schema: S,
  code: Unreadable,
): Promise<z.output<S> | undefined> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw unreadable(code, file, messageOf(cause), cause);
  });
  if (text === undefined) return undefined;
  const parsed = schema.safeParse(jsonOf(text, file, code));
  if (parsed.success) return parsed.data;
  throw unreadable(code, file, whatIsWrong(parsed.error), parsed.error);
}

/** The files of a part: `orders.review.json`, and `orders.ada.review.json` of a reader with a name. */
export async function filesBeside(design: string, part: string): Promise<string[]> {
  const folder = dirname(design);
  const stem = basename(pathBeside(design, part), `.${part}.json`);
  const names = await readdir(folder).catch(() => []);
  const own = names.filter((name) => name.startsWith(`${stem}.`) && name.endsWith(`.${part}.json`));
  return own
    .filter((name) => !name.slice(stem.length + 1, -`${part}.json`.length - 1).includes('.'))
    .toSorted()
    .map((name) => join(folder, name));
}

function jsonOf(text: string, file: string, code: Unreadable): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (cause) {
    throw unreadable(code, file, messageOf(cause), cause);
  }
}

/** The first three mistakes, each with its place: `annotations.3.line: …`. */
function whatIsWrong({ issues }: z.ZodError): string {
  const shown = issues.slice(0, 3).map(({ path, message }) => `${path.join('.')}: ${message}`);
  return `${shown.join('; ')}${issues.length > 3 ? `; and ${issues.length - 3} more` : ''}`;
}

export const unreadable = (code: Unreadable, file: string, why: string, cause?: unknown) =>
  modelError(code, `${file}: ${why}`, { cause });
