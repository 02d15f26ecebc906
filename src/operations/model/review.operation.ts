import { basename } from 'node:path';
import { z } from 'zod';
import { textsOf } from '../../model/documents.ts';
import { modelError } from '../../model/errors.ts';
import { reviewInstructions, reviewJsonSchema, secondInstructions } from '../../model/review/instructions.ts';
import { checkDocuments } from '../../model/rules/index.ts';
import { QUESTIONS } from '../../model/rules/questions.ts';
import { parserFor } from '../../model/rules/relational.ts';
import { defineOperation } from '../operation.ts';
import { pathsOf, readPair, shortPath } from './pair.ts';
import { linesOf, reviewPath, verdictsPath } from './review.ts';
import { ruleSettings, settingsFlags } from './settings.ts';

export const modelReview = defineOperation({
  noun: 'model',
  verb: 'review',
  summary: 'Print the questions that an assistant or a person answers about a data model, and that model check reports',
  examples: [
    'millrace model review docs/cosmos-design.md > review.md',
    'millrace model review docs/cosmos-design.md --by ada --free > review.md',
    'millrace model review docs/cosmos-design.md --second > second.md',
    'millrace model review --schema',
  ],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    ...settingsFlags,
    second: z.boolean().default(false).describe('print all findings for a second reader, who gives a verdict on each'),
    free: z
      .boolean()
      .default(false)
      .describe('print the titles of the questions only, for a second pair of eyes that reviews freely (with --by)'),
    by: z
      .string()
      .regex(/^[\w-]{1,40}$/, 'letters, digits, _ and - only')
      .optional()
      .describe('name of the reader, for a file of their own beside those of others'),
    schema: z.boolean().default(false).describe('print the JSON Schema of the file to write; no document is read'),
  }),
  run: async (
    { directory, second, free, by, schema, ...flags },
    { workspace },
  ): Promise<{ text: string; file?: string }> => {
    if (free && (by === undefined || second))
      throw modelError('review-flags', second ? '--free and --second are of two readers' : '--free needs --by NAME');
    if (second && by !== undefined)
      throw modelError('review-flags', '--by is for readers of the questions; verdicts have one file');
    if (schema) return { text: JSON.stringify(reviewJsonSchema(second), null, 2) };
    const { design, requirements } = await pathsOf(workspace, directory);
    const name = basename(design);
    const texts = {
      design: await linesOf(design),
      requirements: requirements === undefined ? undefined : await linesOf(requirements),
    };
    const file = shortPath(workspace.directory, second ? verdictsPath(design) : reviewPath(design, by));
    if (!second) return { file, text: reviewInstructions({ document: name, into: file, free }, texts, QUESTIONS) };
    const { documents, rules } = await readPair(workspace, directory);
    // Verdicts that are there already would hide what they set aside.
    const { verdicts: _, ...unjudged } = documents;
    const settings = await ruleSettings(flags, workspace.directory);
    const { findings } = checkDocuments(unjudged, rules, { settings, parser: await parserFor(documents) });
    const lines = textsOf(documents);
    return {
      file,
      text: secondInstructions(name, file, texts, findings, (at) => lines.get(at.file)?.[at.line - 1]),
    };
  },
  format: ({ text }) => text,
});
