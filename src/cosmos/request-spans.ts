// A span for each request of our clients that belongs to recorded work, with the attributes that OpenTelemetry has for
// Cosmos DB. Paths hold ids and bodies hold documents, so neither gets into a span.
import type { Next, Plugin, PluginConfig } from '@azure/cosmos';
import { errorTypeOf } from '../base/opentelemetry.ts';
import { type Span, inSpan, isRecording } from '../base/spans.ts';

type Request = Parameters<Plugin<unknown>>[0];
type Response = Awaited<ReturnType<Next<unknown>>>;

/** Answers that callers expect: no such document, a condition that didn't hold. */
const EXPECTED: ReadonlySet<number> = new Set([304, 404, 409, 412]);
const PLACE = /^\/?dbs\/([^/]+)(?:\/colls\/([^/]+))?/;
const RESOURCES: Readonly<Record<string, string>> = {
  docs: 'item',
  colls: 'container',
  dbs: 'database',
  pkranges: 'partition_key_ranges',
  offers: 'offer',
};

/** For `CosmosClientOptions.plugins`, each attempt of a request by itself. */
export const requestSpans: PluginConfig = {
  on: 'request',
  plugin: (request: Request, _node, next: Next<unknown>): Promise<Response> =>
    isRecording() ? spanned(request, next) : next(request),
};

async function spanned(request: Request, next: Next<unknown>): Promise<Response> {
  // An answer that is expected ends the span without an error, and is thrown all the same.
  const outcome = await inSpan(
    () => spanOf(request),
    async (span) => {
      try {
        const response = await next(request);
        answered(span, response);
        return { response };
      } catch (error) {
        failed(span, error);
        return { error };
      }
    },
  );
  if ('error' in outcome) throw outcome.error;
  return outcome.response;
}

function spanOf(request: Request) {
  const [, database = '', container] = PLACE.exec(request.path ?? '') ?? [];
  const operation = operationOf(request);
  const collection = container && decodeURIComponent(container);
  const { hostname, port } = URL.parse(request.endpoint ?? '') ?? {};
  return {
    name: [operation, collection ?? database].join(' ').trimEnd(),
    kind: 'client' as const,
    attributes: {
      'db.system.name': 'azure.cosmosdb',
      'db.operation.name': operation,
      ...(database !== '' && { 'db.namespace': decodeURIComponent(database) }),
      ...(collection !== undefined && { 'db.collection.name': collection }),
      ...(hostname && { 'server.address': hostname }),
      ...(port && { 'server.port': Number(port) }),
    },
  };
}

/** As the semantic conventions name the calls of the SDK. */
function operationOf({ operationType, resourceType, headers = {} }: Request): string {
  const type: string = operationType ?? 'execute';
  if (type === 'batch') return headers['x-ms-cosmos-batch-atomic'] ? 'execute_batch' : 'execute_bulk';
  const resource = RESOURCES[resourceType ?? ''] ?? 'account';
  if (type !== 'query') return `${type}_${resource}`;
  if (headers['A-IM'] !== undefined) return 'query_change_feed';
  return resource === 'item' ? 'query_items' : `read_all_${resource}`;
}

function answered(span: Span, { code, substatus, headers, result }: Response): void {
  const batched = Array.isArray(result) ? { 'db.operation.batch.size': result.length } : {};
  span.set({ ...batched, ...statusOf(code, substatus, headers) });
}

function failed(span: Span, error: unknown): void {
  const { code, substatus, headers } = error as Partial<Response>;
  span.set(statusOf(code, substatus, headers));
  if (typeof code !== 'number') span.fail(errorTypeOf(error));
  else if (!EXPECTED.has(code)) span.fail(String(code));
}

function statusOf(code: unknown, substatus: unknown, headers: Response['headers'] = {}) {
  const charge = Number(headers['x-ms-request-charge'] ?? Number.NaN);
  return {
    ...(typeof code === 'number' && { 'db.response.status_code': String(code) }),
    ...(typeof substatus === 'number' && { 'azure.cosmosdb.response.sub_status_code': substatus }),
    ...(!Number.isNaN(charge) && { 'azure.cosmosdb.operation.request_charge': charge }),
  };
}
