import { z } from 'zod';
import { canonical } from '../../base/json.ts';
import { defineOperation } from '../operation.ts';
import { operationsError } from '../../procedures/errors.ts';
import { agoText, textTable } from '../../procedures/table.ts';
import { namedDocument } from '../../procedures/trace/named.ts';
import { type RecentDocuments, recentDocuments } from '../../procedures/trace/recent.ts';
import { type TracedDocument, traceDocument } from '../../procedures/trace/trace.ts';

export const trace = defineOperation({
  name: 'trace',
  summary: 'Trace a document: its last changes, where each projection has it, and why one does not',
  examples: [
    'millrace trace Orders',
    'millrace trace Orders store-1 order-17',
    `millrace trace Orders '["store-1"]' order-17 --json`,
    'millrace trace Orders store-1 order-17 --env production',
  ],
  shards: 'one',
  effect: 'reads',
  arguments: ['container', 'key', 'id'],
  input: z.object({
    container: z.string().min(1).describe('the container of the document'),
    key: z
      .string()
      .min(1)
      .optional()
      .describe('its partition key: a text, or a JSON array with a value for each level'),
    id: z.string().min(1).optional().describe('its id; without a key and an id, the last written documents are listed'),
  }),
  run: async ({ container, key, id }, context): Promise<TracedDocument | RecentDocuments> => {
    if (key === undefined) return recentDocuments(container, context);
    if (id !== undefined)
      return traceDocument(namedDocument(await context.workspace.pipeline(), { container, key, id }), context);
    throw operationsError('input-invalid', 'The document’s id is missing', {
      hint: 'Run `millrace trace CONTAINER KEY ID`.',
    });
  },
  format: (found) => ('recent' in found ? sayRecent(found) : sayTraced(found)),
});

const sayRecent = ({ container, recent }: RecentDocuments): string =>
  recent.length === 0
    ? `${container} has no document.`
    : textTable(
        ['key', 'id', 'written'],
        recent.map(({ key, id, writtenAt }) => [canonical(key), id, agoText(writtenAt)]),
      );

const sayTraced = ({ container, key, id, document, range, events, projections }: TracedDocument): string =>
  [
    document === null
      ? `${container}/${id} (key ${canonical(key)}) is not in its container.`
      : `${container}/${id} (key ${canonical(key)}) was last written ${document.writtenAt}, ETag ${document.etag}.`,
    range.why,
    '',
    projections.length === 0
      ? `No projection reads ${container}.`
      : textTable(
          ['projection', 'kind', 'state', 'where', 'why'],
          projections.map((of) => [
            of.id,
            of.kind,
            of.state,
            of.places.map((place) => `${place.container} ${canonical(place.key)} ${place.id}`).join('; '),
            of.why,
          ]),
        ),
    ...(events.length === 0
      ? []
      : [
          '',
          textTable(
            ['at', 'what'],
            events.map(({ at, what }) => [at, what]),
          ),
        ]),
  ].join('\n');
