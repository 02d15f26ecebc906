import { z } from 'zod';
import { canonical } from '../../base/json.ts';
import { defineOperation } from '../operation.ts';
import { textTable } from '../../procedures/table.ts';
import { namedDocument } from '../../procedures/trace/named.ts';
import { traceDocument } from '../../procedures/trace/trace.ts';

export const trace = defineOperation({
  verb: 'trace',
  summary: 'Trace a document: its last changes, where each projection has it, and why one does not',
  examples: [
    'millrace trace Orders store-1 order-17',
    `millrace trace Orders '["store-1"]' order-17 --json`,
    'millrace trace Orders store-1 order-17 --env production',
  ],
  shards: 'one',
  effect: 'reads',
  arguments: ['container', 'key', 'id'],
  input: z.object({
    container: z.string().min(1).describe('the container of the document'),
    key: z.string().min(1).describe('its partition key: a text, or a JSON array with a value for each level'),
    id: z.string().min(1).describe('its id'),
  }),
  run: async (asked, context) => traceDocument(namedDocument(await context.workspace.pipeline(), asked), context),
  format: ({ container, key, id, document, range, events, projections }) =>
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
    ].join('\n'),
});
