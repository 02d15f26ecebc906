import { fieldsOf } from '../../src/model/fields.ts';
import type { DocumentType, SourceLine } from '../../src/model/model.ts';

/** A type as the reader of documents makes it: its fields are those that the examples show. */
export const typeOfExamples = (
  name: string,
  examples: DocumentType['examples'],
  at: SourceLine = { file: 'm.md', line: 1 },
): DocumentType => ({ name, fields: fieldsOf(examples), examples, at });
