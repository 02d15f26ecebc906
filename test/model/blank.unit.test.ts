// `model new`: a blank form gives exactly its questions, and a form with all of them answered gives no findings.
import { expect, test } from 'vitest';
import { blank } from '../../src/model/blank.ts';
import { parseDesign } from '../../src/model/reader/design.ts';
import { parseRequirements } from '../../src/model/reader/requirements.ts';
import { checkDocuments } from '../../src/model/rules/index.ts';
import type { Place } from '../../src/model/model.ts';

interface Texts {
  readonly requirements: string;
  readonly design: string;
}

const check = ({ requirements, design }: Texts) => {
  const { findings, reading } = checkDocuments({
    requirements: parseRequirements(requirements, 'requirements'),
    design: parseDesign(design, 'design'),
  });
  return [...findings, ...reading].filter(({ severity }) => severity !== 'information');
};

const lineOf = (texts: Texts, { file, line }: Place): string =>
  (file === 'requirements' ? texts.requirements : texts.design).split('\n')[line - 1] ?? '';

/** Lines that ask: a bracket with a question, an item that isn't ticked. */
const QUESTION = /\[[^\]]{4,}\]|^- \[ \]/;

test('a blank form has a finding at each question, and none elsewhere', () => {
  const texts = blank('Shop');
  const found = new Set(
    check(texts).flatMap((one) =>
      [one.at, ...('related' in one ? (one.related ?? []) : [])].map((place) => lineOf(texts, place)),
    ),
  );
  const asked = [...texts.requirements.split('\n'), ...texts.design.split('\n')].filter((line) => QUESTION.test(line));
  expect(asked.length).toBeGreaterThan(20);
  expect([...found].toSorted()).toEqual([...new Set(asked)].toSorted());
});

/** Answers by a part of their question. */
const ANSWERS: readonly (readonly [string, string])[] = [
  ['what does a user ask for, and', 'Read an item (source: analytics)'],
  ['what does a user write, and', 'Write an item (source: billing)'],
  ['How many children', '**Store → Items**: 1:Many (avg 10, max 400)'],
  ['how many values', '100,000 values; requests know it'],
  ['how many RU/s at the peak', 'manual 400 RU/s, 60 RU/s at the peak'],
  ['how much of the load', '0.1 % of the load'],
  ['regions, and whether', 'one region'],
  ['what is copied', 'nothing'],
];

const filled = (text: string): string =>
  text
    .replaceAll(
      /\[([^\]\n"]{4,})\]/g,
      (_, question: string) => ANSWERS.find(([part]) => question.includes(part))?.[1] ?? 'items of a shop',
    )
    .replaceAll('- [ ]', '- [x]')
    .replaceAll(/\| \| (Read|Write) \|/g, '| 10/2 | $1 |')
    .replaceAll('⏳', '✅');

test('a form with every question answered has no findings', () => {
  const { requirements, design } = blank('Shop');
  const texts = { requirements: filled(requirements), design: filled(design) };
  expect(check(texts).map(({ message, at }) => `${message} | ${lineOf(texts, at)}`)).toEqual([]);
});
