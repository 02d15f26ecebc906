// The file of annotations beside a data model.
import { type Annotations, annotationsOf } from '../../model/annotations/annotations.ts';
import { annotationsSchema } from '../../model/annotations/schema.ts';
import { plainLines, readDocument } from '../../model/reader/source.ts';
import { pathBeside, readBeside } from './beside.ts';

/** `docs/orders.md` has its annotations in `docs/orders.annotations.json`. */
export const annotationsPath = (design: string): string => pathBeside(design, 'annotations');

/** Undefined if there is no such file. @throws UsageError `annotations-unreadable` */
export async function readAnnotations(design: string): Promise<Annotations | undefined> {
  const file = annotationsPath(design);
  const read = await readBeside(file, annotationsSchema, 'annotations-unreadable');
  return read && annotationsOf(read, plainLines(await readDocument(design)).split('\n'), design, file);
}
