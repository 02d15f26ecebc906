import { z } from 'zod';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { defineOperation } from '../operation.ts';
import { agoText, plural, textTable } from '../../procedures/table.ts';
import { askedTenant, isGiven, tenantInput } from '../../procedures/tenants/tenant-flag.ts';
import type { Run } from '../../procedures/journal/runs.ts';

/** What the query selects. */
type Listed = Omit<Run, 'pk' | 'type'>;

export const audit = defineOperation({
  name: 'audit',
  summary: 'List the changes made by hand, newest first: who, when, with which arguments and result',
  examples: ['millrace audit', 'millrace audit --most 100 --json', 'millrace audit --tenant store-1'],
  shards: 'itself',
  effect: 'reads',
  input: z.object({
    most: z.int().min(1).max(10_000).default(20).describe('most records to show'),
    tenant: tenantInput.tenant.describe('only changes that were made with --tenant and this tenant'),
  }),
  run: async ({ most, tenant }, { workspace, signal }) => {
    const asked = tenant === undefined ? undefined : askedTenant(await workspace.pipeline(), tenant);
    const { state } = (await workspace.services()).global;
    const records: Listed[] = [];
    const query = {
      query: `SELECT ${asked ? '' : 'TOP @most '}c.id, c.actor, c.at, c.verb, c.arguments, c.outcome, c.endedAt, c.result FROM c WHERE c.kept${asked ? ' AND IS_DEFINED(c.arguments.tenant)' : ''} ORDER BY c.id DESC`,
      parameters: [{ name: '@most', value: most }],
    };
    for await (const record of fetchAll<Listed>(state, query, signal, { partitionKey: 'runs' })) {
      if (!asked || isGiven(asked, record.arguments)) records.push(record);
      if (records.length === most) break;
    }
    return records;
  },
  format: (records) =>
    records.length === 0
      ? 'No changes by hand yet.'
      : `${textTable(
          ['when', 'actor', 'verb', 'arguments', 'outcome'],
          records.map(({ at, actor, verb, arguments: given, outcome, result }) => [
            agoText(at),
            actor,
            verb,
            Object.entries(given)
              .filter(([, value]) => value !== '')
              .map(([name, value]) => `${name}=${String(value)}`)
              .join(' '),
            outcome === 'failed' ? `failed: ${messageIn(result)}` : outcome,
          ]),
        )}\n${plural(records.length, 'record')}`,
});

const messageIn = (result: unknown): string =>
  typeof result === 'object' && result !== null && 'message' in result ? String(result.message).slice(0, 80) : '';
