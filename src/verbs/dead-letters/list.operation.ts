import { z } from 'zod';
import { flag } from '../flags.ts';
import { canonical } from '../../base/json.ts';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import type { LetterGroup } from '../../engine/dead-letters/letter-queries.ts';
import { defineOperation } from '../operation.ts';
import { agoText, clip, plural, textTable } from '../../procedures/table.ts';
import { filterInput, selectGroups, selectLetters } from '../../procedures/dead-letters/select.ts';

/** A dead letter with the tenant of its document; null: it has none. */
type Row = Omit<DeadLetter, 'tenant'> & { readonly tenant: string | null };
type Listed = readonly LetterGroup[] | readonly Row[];

export const deadLettersList = defineOperation({
  name: 'dead-letters list',
  summary: 'List the dead letters (changes that could not be applied): one line for each reason, or each one',
  examples: [
    'millrace dead-letters list',
    'millrace dead-letters list --only order-summaries@1 --json',
    'millrace dead-letters list --code projection-threw --since 2026-03-01T03:10:00Z',
    'millrace dead-letters list --each',
    'millrace dead-letters list --tenant store-1',
  ],
  shards: 'every',
  effect: 'reads',
  input: z.object({
    ...filterInput,
    each: flag('list each dead letter, oldest first; so do --code, --key and --since (default: one line a reason)'),
  }),
  run: async (asked, { workspace, signal }): Promise<Listed> => {
    const { each, code, key, since } = asked;
    if (!each && [code, key, since].every((filter) => filter === undefined))
      return selectGroups(workspace, asked, signal);
    return (await selectLetters(workspace, asked)).map(({ tenant = null, ...letter }) => ({ ...letter, tenant }));
  },
  format: (listed) =>
    listed.length === 0 ? 'No dead letters.' : isGrouped(listed) ? sayGroups(listed) : sayEach(listed),
});

const MOST_OF_MESSAGE = 110;

const isGrouped = (listed: Listed): listed is readonly LetterGroup[] => listed.some((one) => 'count' in one);

function sayGroups(groups: readonly LetterGroup[]): string {
  const all = groups.reduce((sum, { count }) => sum + count, 0);
  return `${textTable(
    ['code', 'dead letters', 'oldest', 'newest', 'projections', 'example', 'message'],
    groups.map(({ code, count, oldest, newest, projections, example, message }) => [
      code,
      count,
      agoText(oldest),
      agoText(newest),
      clip(projections.join(', '), 40),
      example,
      clip(message, MOST_OF_MESSAGE),
    ]),
  )}\n${plural(all, 'dead letter')}; \`millrace dead-letters list --code CODE\` lists each, \`millrace dead-letters show ID\` shows one.`;
}

function sayEach(letters: readonly Row[]): string {
  const tenanted = letters.some(({ tenant }) => tenant !== null);
  return `${textTable(
    ['projection', 'container', ...(tenanted ? ['tenant'] : []), 'key', 'id', 'code', 'attempts', 'since', 'message'],
    letters.map(({ projection, container, tenant, key, id, code, attempts, firstAt, message }) => [
      projection,
      container,
      ...(tenanted ? [clip(tenant ?? '', 40)] : []),
      canonical(key),
      id,
      code,
      attempts,
      agoText(firstAt),
      clip(message, MOST_OF_MESSAGE),
    ]),
  )}\n${plural(letters.length, 'dead letter')}; \`millrace dead-letters show ID\` shows one.`;
}
