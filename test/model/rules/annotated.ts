// Findings on a document's lines and annotations of them, for tests of group J.
import { annotationsOf } from '../../../src/model/annotations/annotations.ts';
import { annotationsSchema } from '../../../src/model/annotations/schema.ts';
import { MODEL_RULES, checkDocuments } from '../../../src/model/rules/index.ts';
import type { Rule, RuleFinding } from '../../../src/model/rules/rule.ts';

const FILE = 'design.md';

/** `annotations` as an annotator writes them, in `{ kind, line, words, … }`. Words that no line has fail the test. */
export function annotated(
  lines: string[],
  annotations: object[],
  rules: readonly Rule[] = MODEL_RULES.filter(({ id }) => id.startsWith('J')),
): RuleFinding[] {
  const raw = annotationsSchema.parse({ version: 1, document: FILE, annotations });
  const read = annotationsOf(raw, lines, FILE, 'design.annotations.json');
  if (read.findings.length > 0) throw new Error(read.findings.map(({ message }) => message).join('\n'));
  const documents = { requirements: undefined, design: undefined, annotations: read };
  return [...checkDocuments(documents, rules).findings];
}
