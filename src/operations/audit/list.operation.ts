import { z } from 'zod';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { defineOperation } from '../operation.ts';
import { plural, table } from '../table.ts';
import type { AuditRecord } from './record.ts';

export const auditList = defineOperation({
  noun: 'audit',
  verb: 'list',
  summary: 'List the changes made by hand, newest first: who, when, with which arguments and result',
  examples: ['millrace audit list', 'millrace audit list --most 100 --json'],
  effect: 'reads',
  input: z.object({ most: z.int().min(1).max(10_000).default(20).describe('most records to show') }),
  run: async ({ most }, { workspace, signal }) => {
    const { state } = await workspace.services();
    const records: AuditRecord[] = [];
    const query = {
      query:
        "SELECT TOP @most c.id, c.actor, c.at, c.verb, c.arguments, c.outcome, c.endedAt, c.result FROM c WHERE c.pk = 'audit' ORDER BY c.id DESC",
      parameters: [{ name: '@most', value: most }],
    };
    for await (const record of fetchAll<AuditRecord>(state, query, signal, { partitionKey: 'audit' }))
      records.push(record);
    return records;
  },
  format: (records) =>
    records.length === 0
      ? 'No changes by hand yet.'
      : `${table(
          ['at', 'actor', 'verb', 'arguments', 'outcome'],
          records.map(({ at, actor, verb, arguments: given, outcome, result }) => [
            at,
            actor,
            verb,
            Object.entries(given)
              .map(([name, value]) => `${name}=${String(value)}`)
              .join(' '),
            outcome === 'failed' ? `failed: ${messageIn(result)}` : outcome,
          ]),
        )}\n${plural(records.length, 'record')}`,
});

const messageIn = (result: unknown): string =>
  typeof result === 'object' && result !== null && 'message' in result ? String(result.message).slice(0, 80) : '';
