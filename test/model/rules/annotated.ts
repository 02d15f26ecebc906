// Findings of group J for a few annotations. A test gives the annotations without places: then the document has one line
// for each.
import { annotationsOf } from '../../../src/model/annotations/annotations.ts';
import { annotationsSchema } from '../../../src/model/annotations/schema.ts';
import { MODEL_RULES, checkDocuments } from '../../../src/model/rules/index.ts';
import type { Rule, RuleFinding } from '../../../src/model/rules/rule.ts';

const OVER_ANNOTATIONS = MODEL_RULES.filter(({ id }) => id.startsWith('J'));

/** Without `line` an annotation stands at the line of its own number; without `words` it has the whole line. */
export function annotated(
  lines: readonly string[],
  annotations: readonly object[],
  rules: readonly Rule[] = OVER_ANNOTATIONS,
): readonly RuleFinding[] {
  const text = annotations.reduce<string[]>(
    (all, _, index) => (all.length > index ? all : [...all, `line ${index + 1} of the document`]),
    [...lines],
  );
  const raw = annotationsSchema.parse({
    version: 1,
    document: 'm.md',
    annotations: annotations.map((one, index) => {
      const placed = { line: index + 1, ...one };
      return { words: text[placed.line - 1], ...placed };
    }),
  });
  const read = annotationsOf(raw, text, 'm.md', 'm.annotations.json');
  if (read.findings.length > 0) throw new Error(read.findings.map(({ message }) => message).join('; '));
  return checkDocuments({ requirements: undefined, design: undefined, annotations: read }, rules).findings;
}

/** `J20 message`, for rules whose findings a test compares as texts. */
export const said = (annotations: readonly object[], rules?: readonly Rule[]): string[] =>
  annotated([], annotations, rules).map(({ rule, message }) => `${rule} ${message}`);
