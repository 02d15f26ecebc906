// What annotations of a data-model document are: one JSON file, written by a person or an assistant who reads the document.
// An annotation says what one place of the document states, and nothing else. `model check` compares them (group J).
import { z } from 'zod';
import { name } from './common.ts';
import { DESIGN_KINDS } from './kinds-of-design.ts';
import { USE_KINDS } from './kinds-of-use.ts';

export const annotationSchema = z.discriminatedUnion('kind', [...DESIGN_KINDS, ...USE_KINDS]);

export const annotationsSchema = z.strictObject({
  version: z.literal(1),
  document: name.describe('file name of the document'),
  annotations: z.array(annotationSchema),
});

export type RawAnnotation = z.output<typeof annotationSchema>;
export type RawAnnotations = z.output<typeof annotationsSchema>;
