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

const FREELY = `1. Read the whole document, and write down for yourself what you would tell the team in a review, as an engineer who must build and run this: go down the lines of each table of containers, each read and endpoint, each write and job, each sample and each figure. Is the key right for the main reads, where does a frequent read fan out, what is hot, what isn't unique, what isn't atomic, who overwrites whom, what goes stale or counts twice, what grows without an end, what is never deleted, which index, query, sample or figure is wrong, which two places disagree, who may see what? All of that belongs into the review, also what seems plain.`;
const BY_QUESTIONS = `Then take the questions part by part, and go through the document again from top to bottom for each part: what has the first pass missed? Ask each question of each container, type, read, write, state and sample. Most defects are missed because a reader stops at the first one of a kind.`;
const AGAIN = `Then go through the document a second time, from top to bottom: what have you missed? Most defects are missed because a reader stops at the first one of a kind.`;

const rules = (document: string, into: string, mark: string, free: boolean): string => `# Review ${document}

Review this data model of Azure Cosmos DB for NoSQL, ${free ? 'file each concern under the title at the end that fits best' : 'answer the questions at the end'}, and write \`${into}\`: JSON of the schema below, with \`"text": "${mark}"\`${free ? ' and `"free": true`' : ''}. \`millrace model check\` looks whether your words are in the document, and reports your concerns. The team decides by them, so each must be true, and none that does harm may be missing.

## How to work

${FREELY}
2. ${free ? AGAIN : `Do that before you read the questions. ${BY_QUESTIONS}`}
3. For each suspicion, before you write it: look for the sentence anywhere in the document that answers it. Play the case through: who does what, and what is then wrong in the data, the bill or on the screen? If you can't name that, drop it (a read over all partitions, a hot key value and a log without an end need no more than the line that shows them). If the text weighs it and accepts it, drop it. If it rests on a belief about the service that you aren't sure of, or on what an SDK does by itself in some version, drop it. The premise is a line of the document, not a guess from an adjective.
4. Judge the document for what it is: what is planned for later isn't missing, and a decision record has no shapes. Small data makes the harm low, but it makes no defect right: a key, an id and a unique key can't be changed later, and a log without an end grows. Only what the text bounds or accepts is no concern.
5. Write one concern for one cause, with everything that follows from it, under the question that fits best: what one change corrects is one concern, with all its places. Don't split it, don't write it under two questions, and don't put two causes into one.
6. \`what\` is one or two sentences that stand alone: the container, type, field or step, the cause, and the results. No "may", where you know. \`remedy\` is one way that works in Cosmos DB and with the rest of the document; think whether it breaks something else, or undoes the remedy of another concern. It names no numbers of questions or other concerns.
7. Grade the harm honestly. \`low\` is for what the team would still correct, not for notes. Leave out what no reviewer would say aloud: taste, general advice, more detail where no reader is misled, a risk without a case.
8. ${free ? 'Write only titles under which there is a concern.' : 'Answer every question. Where there is no concern, `because` may say what in the document answers it.'}`;

const SECOND = (document: string, into: string): string => `# Judge the findings of ${document}

\`millrace model check\` and a first reader found the following in this data model of Azure Cosmos DB for NoSQL. You are the second reader. Write \`${into}\`: JSON of the schema below, with a verdict on each finding. What you don't call right isn't reported to the team.

1. For each finding, read the places that it names, and then the rest of the document for what the first reader overlooked: a sentence that answers it, a bound, a scope, a stated choice, a step elsewhere.
2. **wrong**: the document doesn't say or imply it; a sentence answers it; the service works otherwise; the case can't happen; the words were misread; its premise is a guess and no line of the document; it tells from memory what an SDK does by itself, and you aren't sure. If the defect is there and only the remedy does harm or doesn't work, it is right, with a \`remedy\` of yours. Look at each "or" of a remedy, and whether it undoes the remedy of another finding. A remedy names no other finding.
3. **minor**: true, but no reviewer would say it aloud: general advice, style, a wish for more detail where no reader is misled, a risk that the text itself accepts; a slip in a sketch that fails at the first call and stands correctly elsewhere; two wordings, where you can't name the two different things that two people would build. *Small data alone makes nothing minor*: a read that fans out, a hot or changing key, a log without an end, a missing type or retention is worth a sentence in a review, unless the text bounds it and says so. Keys and ids can't be changed later.
4. **repeats**: another finding that you call right names the whole of it (the same change corrects it). Keep the one that says it most fully and correctly. If it has a part of its own, such as another read or another effect, it is right.
5. **right**: everything else. Don't be lenient because it is well written, and don't be strict because it is small: a contradiction, a wrong sample or a false figure that somebody builds by is worth a correction. If you are in doubt between right and minor, it is right.`;

/** For the first reader. `into`: the name of the file to write. `free`: a review without the questions. */
export const reviewInstructions = (
  { document, into, free }: { readonly document: string; readonly into: string; readonly free: boolean },
  documents: Documents,
  asked: readonly Question[],
): string =>
  [
    rules(document, into, markOf(documents.design.lines.join('\n')), free),
    `## JSON Schema\n\n${JSON.stringify(reviewJsonSchema(false))}`,
    ...texts(documents),
    free
      ? `## The titles\n\n${asked.map(({ id, title }) => `- ${id} ${title}`).join('\n')}`
      : `## The questions\n\n${questionsOf(asked)}`,
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
