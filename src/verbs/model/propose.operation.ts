import { readFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { flag } from '../flags.ts';
import { needsOf } from '../../model/propose/needs.ts';
import { type Cost, type ProposedDecision, propose } from '../../model/propose/propose.ts';
import { n } from '../../model/rules/rule.ts';
import { existing } from '../existing.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { defineOperation } from '../operation.ts';
import { textTable } from '../../procedures/table.ts';
import { writeText } from '../write-text.ts';
import { DESIGN_FILE, REQUIREMENTS } from './pair.ts';
import { pipelineDirectory, price as priceFlag } from './model-flags.ts';

export const modelPropose = defineOperation({
  name: 'model propose',
  summary: 'Compare designs for the requirements in RU, and write the cheapest as the data model',
  examples: [
    'millrace model propose orders',
    'millrace model propose orders --price 0.012',
    'millrace model propose orders --write',
    'millrace model propose orders --json',
  ],
  effect: 'changes',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    price: priceFlag,
    write: flag('write both documents; without it, only print the comparison'),
    overwrite: flag('replace an existing data model'),
  }),
  run: async ({ directory, price, write, overwrite }, { workspace }) => {
    const folder = directory === undefined ? workspace.folder : resolve(workspace.directory, directory);
    const [requirements, design] = [join(folder, REQUIREMENTS), join(folder, DESIGN_FILE)];
    const name = (file: string): string => relative(workspace.directory, file);
    const text = await readFile(requirements, 'utf8').catch((cause: unknown) => {
      throw sharedError('missing', `There is no ${name(requirements)}`, {
        hint: 'Write it: docs/model.md, "Proposing a design", shows its tables.',
        cause,
      });
    });
    const { needs, questions } = needsOf(text, requirements);
    const asked = { file: name(requirements), price, questions, proposal: undefined, written: [] as string[] };
    if (questions.length > 0) return asked;
    if (write && !overwrite && (await existing(design)))
      throw sharedError('exists', `${name(design)} already exists`, {
        hint: 'Add `--overwrite` to replace it, or leave out `--write` to see the comparison.',
      });
    const { requirements: completed, design: proposed, ...proposal } = propose(needs);
    if (write) {
      await writeText(requirements, completed);
      await writeText(design, proposed);
    }
    return { ...asked, proposal, written: write ? [name(requirements), name(design)] : [] };
  },
  format: ({ file, price, questions, proposal, written }) => {
    if (!proposal)
      return [
        `${file} doesn't say everything that a proposal needs:`,
        ...questions.map(({ line, question }) => `  ${file}:${line}: ${question}`),
      ].join('\n');
    const { cost, decisions, considered } = proposal;
    return [
      ...decisions.map((decision) => decisionText(decision, price)),
      `The proposal needs ${n(cost.peak)} RU/s at the peak and ${n(cost.average)} RU/s on average; a month is ${n(cost.hours)} hours of 100 RU/s${moneyOf(cost, price)}. ${considered} designs were costed, as \`millrace model cost\` does.`,
      written.length > 0
        ? `${written.join(' and ')} are written. \`millrace model check\` checks them.`
        : '`--write` writes both documents.',
    ].join('\n\n');
  },
  ok: ({ questions }) => questions.length === 0,
});

function decisionText({ decision, options }: ProposedDecision, price: number | undefined): string {
  const money = price === undefined ? [] : ['a month'];
  const rows = options.map(({ option, chosen, cost, refused = '' }) => [
    `${chosen ? '→' : ' '} ${option}`,
    cost.average,
    cost.peak,
    Math.round(cost.hours),
    ...(price === undefined ? [] : [cost.hours * price]),
    refused,
  ]);
  return textTable([decision, 'RU/s average', 'RU/s peak', '100 RU/s-hours a month', ...money, ''], rows);
}

const moneyOf = ({ hours }: Cost, price: number | undefined): string =>
  price === undefined ? '' : `, ${n(hours * price)} by the price of ${price}`;
