import { z } from 'zod';
import { flag } from '../flags.ts';
import { type ContainerCost, type Costs, costsOf } from '../../model/cost.ts';
import { HOURS_PER_MONTH } from '../../model/estimate.ts';
import { n } from '../../model/rules/rule.ts';
import { defineOperation } from '../operation.ts';
import { textTable } from '../../procedures/table.ts';
import { readPair } from './pair.ts';
import { pipelineDirectory, price as priceFlag } from './model-flags.ts';

export const modelCost = defineOperation({
  name: 'model cost',
  summary: 'Calculate RU/s and cost by container, pattern and projection',
  examples: ['millrace model cost', 'millrace model cost examples/flights --price 0.012 --terms'],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    price: priceFlag,
    terms: flag('show the terms of each sum'),
  }),
  run: async ({ directory, price, terms }, { workspace }) => {
    const { documents } = await readPair(workspace, directory);
    return {
      price,
      terms,
      ...costsOf(documents),
      /** The access patterns, which terms name by these ids. */
      patterns: (documents.requirements?.patterns ?? []).map(({ id, printed, description }) => ({
        id,
        printed,
        description,
      })),
    };
  },
  format: ({ price, terms, ...costs }) => `${text(costs, price, terms)}\n\n${footnote(price)}`,
});

function text({ containers, projections }: Costs, price: number | undefined, terms: boolean): string {
  const money = (hours: number | undefined): number | string =>
    hours === undefined ? '–' : price === undefined ? hours : hours * price;
  const unit = price === undefined ? '100 RU/s-hours' : 'cost';
  const rows = containers.map(({ name, peak, average, provisioned, hours }) => [
    name,
    average,
    peak,
    provisioned?.max ?? '–',
    money(hours?.expected),
    money(hours?.most),
  ]);
  const total = (pick: (of: ContainerCost) => number): number => containers.reduce((all, of) => all + pick(of), 0);
  const sums = [
    'all',
    total(({ average }) => average),
    total(({ peak }) => peak),
    total(({ provisioned }) => provisioned?.max ?? 0),
    money(total(({ hours }) => hours?.expected ?? 0)),
    money(total(({ hours }) => hours?.most ?? 0)),
  ];
  const parts = [
    textTable(['container', 'RU/s average', 'RU/s peak', 'maximum', `${unit} a month`, 'at most'], [...rows, sums]),
  ];
  if (terms)
    parts.push(
      containers
        .flatMap(({ name, terms: list, peak }) =>
          list.length === 0
            ? []
            : [
                `${name}: ${list.map(({ what, perSecond, ru }) => `${what} ${n(perSecond)}/s × ${n(ru)} RU`).join(' + ')} = ${n(peak)} RU/s`,
              ],
        )
        .join('\n'),
    );
  if (projections.length > 0)
    parts.push(
      textTable(
        ['projection', 'changes/s', 'RU/change', 'RU/s to keep fresh', 'RU/s it saves', 'costs more from changes/s'],
        projections.map(({ name, changes, ru, perSecond, instead, breakEven }) => [
          name,
          changes,
          ru,
          perSecond,
          instead ?? '–',
          breakEven ?? '–',
        ]),
      ),
    );
  return parts.join('\n\n');
}

const footnote = (price: number | undefined): string =>
  `A month has ${HOURS_PER_MONTH} hours; autoscale is billed for the average load, but at least for a tenth of its maximum.${price === undefined ? ' --price shows money.' : ''}`;
