// A span for each request of our clients that belongs to recorded work, with the attributes that OpenTelemetry has for
// Cosmos DB. Paths hold ids and bodies hold documents, so neither gets into a span.
import type { Next, Plugin, PluginConfig } from '@azure/cosmos';
import { errorTypeOf } from '../base/telemetry/opentelemetry.ts';
import {
  type OpenSpan,
  type Span,
  type SpanAttributes,
  type SpanOptions,
  openSpan,
  recordedSpan,
} from '../base/telemetry/spans.ts';

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

/**
 * For `CosmosClientOptions.plugins`, each attempt by itself. Attempts of one operation on one container that are in flight
 * together below one span share theirs: a page that changes 300 partitions would have 300 spans that say the same. One that
 * is refused beside others has its own.
 */
export const requestSpans: PluginConfig = {
  on: 'request',
  plugin: (request: Request, _node, next: Next<unknown>): Promise<Response> => {
    const parent = recordedSpan();
    return parent ? spanned(parent, request, next) : next(request);
  },
};

/** The caller gets the client's own promise: another one for each request would cost more than the spans. */
function spanned(parent: object, request: Request, next: Next<unknown>): Promise<Response> {
  const startedAt = Date.now();
  const flight = flightOf(parent, request);
  const answer = flight.span.around(() => next(request));
  answer.then(flight.answered, (error: unknown) => flight.refused(error, request, startedAt));
  return answer;
}

/** The flights that haven't ended, by the span that they are below: few, so a list is faster than a key for each request. */
const inFlight = new WeakMap<object, Flight[]>();

function flightOf(parent: object, request: Request): Flight {
  let flights = inFlight.get(parent);
  if (!flights) inFlight.set(parent, (flights = []));
  const operation = operationOf(request);
  let flight = flights.find((one) => one.takes(operation, request));
  if (!flight) {
    flight = new Flight(flights, operation, request);
    flights.push(flight);
  }
  flight.join();
  return flight;
}

/** Requests that overlap, and their span: it begins with the first and ends with the last. */
class Flight {
  readonly span: OpenSpan;
  readonly #flights: Flight[];
  readonly #operation: string;
  /** Of the database or the container. */
  readonly #path: string;
  readonly #endpoint: string | undefined;
  #begun = 0;
  #running = 0;
  #answers = 0;
  #documents = 0;
  #charge = Number.NaN;
  /** What all answers had. */
  #code: unknown;
  #substatus: unknown;

  /** `flights`: those of the same parent, of which it takes itself when it has ended. */
  constructor(flights: Flight[], operation: string, request: Request) {
    this.span = openSpan(spanOf(request));
    this.#flights = flights;
    this.#operation = operation;
    [this.#path = ''] = PLACE.exec(request.path ?? '') ?? [];
    this.#endpoint = request.endpoint;
  }

  /** Whether a request is of the same operation on the same container. */
  takes(operation: string, { path = '', endpoint }: Request): boolean {
    const end = this.#path.length;
    return (
      this.#operation === operation &&
      this.#endpoint === endpoint &&
      path.startsWith(this.#path) &&
      (path.length === end || path[end] === '/')
    );
  }

  /** Whether no other request has joined. */
  get #alone(): boolean {
    return this.#begun === 1;
  }

  join(): void {
    this.#begun++;
    this.#running++;
  }

  readonly answered = ({ code, substatus, headers, result }: Response): void => {
    const first = this.#answers++ === 0;
    this.#code = first || this.#code === code ? code : undefined;
    this.#substatus = first || this.#substatus === substatus ? substatus : undefined;
    this.#charge = first ? chargeOf(headers) : this.#charge + chargeOf(headers);
    if (Array.isArray(result)) this.#documents += result.length;
    this.#leave();
  };

  refused(error: unknown, request: Request, startedAt: number): void {
    if (this.#alone) failed(this.span, error);
    else {
      const own = openSpan({ ...spanOf(request), startedAt });
      failed(own, error);
      own.end();
    }
    this.#leave();
  }

  #leave(): void {
    if (--this.#running > 0) return;
    this.#flights.splice(this.#flights.indexOf(this), 1);
    this.span.set({
      ...(this.#documents > 0 && { 'db.operation.batch.size': this.#documents }),
      ...(!this.#alone && { 'millrace.requests': this.#answers }),
      ...(this.#answers > 0 && statusOf(this.#code, this.#substatus, this.#charge)),
    });
    this.span.end();
  }
}

function spanOf(request: Request): SpanOptions {
  const [, database = '', container] = PLACE.exec(request.path ?? '') ?? [];
  const operation = operationOf(request);
  const collection = container && decodeURIComponent(container);
  const { hostname, port } = URL.parse(request.endpoint ?? '') ?? {};
  return {
    name: [operation, collection ?? database].join(' ').trimEnd(),
    kind: 'client',
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

function failed(span: Span, error: unknown): void {
  const { code, substatus, headers } = error as Partial<Response>;
  span.set(statusOf(code, substatus, chargeOf(headers)));
  if (typeof code !== 'number') span.fail(errorTypeOf(error));
  else if (!EXPECTED.has(code)) span.fail(String(code));
}

const chargeOf = (headers: Response['headers'] = {}): number => Number(headers['x-ms-request-charge'] ?? Number.NaN);

function statusOf(code: unknown, substatus: unknown, charge: number): SpanAttributes {
  return {
    ...(typeof code === 'number' && { 'db.response.status_code': String(code) }),
    ...(typeof substatus === 'number' && { 'azure.cosmosdb.response.sub_status_code': substatus }),
    ...(!Number.isNaN(charge) && { 'azure.cosmosdb.operation.request_charge': charge }),
  };
}
