// What the readers of a review are told: the questions for the first, the findings for the second, and the document.
import { z } from 'zod';
import { numbered } from '../evidence.ts';
import { PARTS, type Question } from '../rules/question.ts';
import type { RuleFinding } from '../rules/rule.ts';
import { type Lined, markOf } from './review.ts';
import { reviewSchema, verdictsSchema } from './schema.ts';
import { type LineOf, nameOf } from './verdicts.ts';

/** The JSON Schema of a review, or of verdicts. */
export const reviewJsonSchema = (second: boolean): object =>
  z.toJSONSchema(second ? verdictsSchema : reviewSchema, { io: 'input' });

export interface Documents {
  readonly design: Lined;
  readonly requirements: Lined | undefined;
}

const RULES = (document: string, into: string, mark: string): string => `# Review ${document}

Answer the questions below for this data model of Azure Cosmos DB for NoSQL, and write \`${into}\`: JSON of the schema below, with \`"text": "${mark}"\`. \`millrace model check\` looks whether your words are in the document, and reports your concerns. The team decides by them, so each must be true, and none that does harm may be missing.

## How to work

1. Read the whole document once, and note for yourself: the containers with key, id, types, TTL and throughput; every read with the values that its caller has; every write with its writers and with all that it changes; every state and who sets it; every derived field; every figure; every claim about the service.
2. Then go through the document once for each part of the questions, from top to bottom, with the notes beside you: prose, tables, diagrams, samples, code, configuration, lists of tasks. Most defects are missed because a reader stops at the first one of a kind. Ask each question of each container, type, read, write, state and sample.
3. For each suspicion, before you write it: look for the sentence anywhere in the document that answers it. Play the case through: who does what, and what is then wrong in the data, the bill or on the screen? If you can't name that, drop it. If the text weighs it and accepts it, drop it. If it rests on a belief about the service that you aren't sure of, or on what an SDK does by itself in some version, drop it. The premise is a line of the document, not a guess from an adjective.
4. Judge the document for what it is: a service with a thousand users doesn't need what one with millions needs; what is planned for later isn't missing; a decision record has no shapes. The size that the text states, or that the purpose makes plain, decides.
5. Write one concern for one cause, under the question that fits best, and name every place. Two defects that are mended separately are two concerns, also if they stand in one line. Don't write the same cause under two questions.
6. \`what\` is one or two short sentences that stand alone: the container, type, field or step, the cause, and the result. No "may", where you know. \`remedy\` is one way that works in Cosmos DB and with the rest of the document; think whether it breaks something else, or undoes the remedy of another concern.
7. Grade the harm honestly. \`low\` is for what the team would still mend, not for notes. Leave out what no reviewer would say aloud: taste, general advice, more detail where nobody is misled, a risk without a case.
8. Answer every question. Where there is no concern, \`because\` says in one sentence what in the document answers it, or why it doesn't arise.`;

const SECOND = (document: string, into: string): string => `# Judge the findings of ${document}

\`millrace model check\` and a first reader found the following in this data model of Azure Cosmos DB for NoSQL. You are the second reader. Write \`${into}\`: JSON of the schema below, with a verdict on each finding. What you don't call right isn't reported to the team.

1. For each finding, read the places that it names, and then the rest of the document for what the first reader overlooked: a sentence that answers it, a bound, a scope, a stated choice, a step elsewhere.
2. **wrong**: the document doesn't say or imply it; a sentence answers it; the service works otherwise; the case can't happen at the stated size; the words were misread; its premise is a guess and no line of the document; it tells from memory what an SDK does by itself, and you aren’t sure. If the defect is there and only the remedy does harm or doesn't work, it is right, with a \`remedy\` of yours. Look at each "or" of a remedy, and whether it undoes the remedy of another finding.
3. **minor**: true, but no sensible team of this size would change the document or the design for it: general advice, style, a wish for more detail where nobody is misled, a risk that the text accepts; a slip in a sketch that fails at the first call and stands correctly elsewhere; two wordings, where you can’t name the two different things that two people would build.
4. **repeats**: another finding names the same defect (the same thing is mended). Keep the one that says it most fully and correctly; if each has a part, keep both.
5. **right**: everything else. Don't be lenient because it is well written, and don't be strict because it is small: a contradiction, a wrong sample or a false figure that somebody builds by is worth mending.`;

/** For the first reader. `into`: the name of the file to write. */
export const reviewInstructions = (
  document: string,
  into: string,
  documents: Documents,
  asked: readonly Question[],
): string =>
  [
    RULES(document, into, markOf(documents.design.lines.join('\n'))),
    `## The questions\n\n${questionsOf(asked)}`,
    `## JSON Schema\n\n${JSON.stringify(reviewJsonSchema(false))}`,
    ...texts(documents),
  ].join('\n\n');

/** For the second reader. */
export const secondInstructions = (
  document: string,
  into: string,
  documents: Documents,
  findings: readonly RuleFinding[],
  lineOf: LineOf,
): string =>
  [
    SECOND(document, into),
    `## The findings\n\n${findings.length === 0 ? 'None.' : findings.map((finding) => listed(finding, documents, lineOf)).join('\n\n')}`,
    `## JSON Schema\n\n${JSON.stringify(reviewJsonSchema(true))}`,
    ...texts(documents),
  ].join('\n\n');

function questionsOf(asked: readonly Question[]): string {
  const byPart = Map.groupBy(asked, ({ part }) => part);
  return [...byPart].map(([part, own]) => `### ${PARTS[part]}\n\n${own.map(asking).join('\n\n')}`).join('\n\n');
}

const asking = ({ id, title, ask, not, known }: Question): string =>
  `**${id}. ${title}.**\n${ask.map((sentence) => `- ${sentence}`).join('\n')}\n- No concern: ${not}\n- Known: ${known}`;

function listed(
  { at, related = [], severity, message, evidence, hint, ...of }: RuleFinding,
  documents: Documents,
  lineOf: LineOf,
): string {
  const place = ({ file, line }: RuleFinding['at']): string =>
    `${file === documents.requirements?.file ? 'requirements ' : file === documents.design.file ? '' : `${file} `}${line}`;
  return [
    `**${nameOf({ ...of, at, severity, message }, lineOf)}** (${severity}), line ${[at, ...related].map(place).join(', ')}`,
    `Says: ${message}`,
    ...(evidence === undefined ? [] : [`Because: ${evidence}`]),
    ...(hint === undefined ? [] : [`Remedy: ${hint}`]),
  ].join('\n');
}

function texts({ design, requirements }: Documents): string[] {
  return [
    ...(requirements ? [`## The requirements, with the number of each line\n\n${numbered(requirements.lines)}`] : []),
    `## The data model, with the number of each line\n\n${numbered(design.lines)}`,
  ];
}
