// Recounts the flights example from its two files and compares with what lies in the sink containers, and with
// the flights themselves, hot and cold, document by document. Imports nothing of this repository: what it agrees with
// can't be wrong for the same reason.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { CosmosClient } from '@azure/cosmos';
import { BlobServiceClient } from '@azure/storage-blob';
import { parse } from 'csv-parse/sync';

interface Flight {
  readonly date: string;
  readonly delay: number;
  readonly distance: number;
  readonly origin: string;
  readonly destination: string;
}
type Fields = Record<string, string | number | null>;
/** Expected rows by a text that identifies them; `describe` builds the same text from a document of the sink. */
interface Expected {
  readonly container: string;
  readonly type: string;
  readonly describe: (row: Readonly<Record<string, unknown>>) => string;
  readonly rows: Map<string, Fields>;
}

const folder = join(import.meta.dirname, '../examples/flights/data');
function read<T>(name: string): T[] {
  return parse<T>(gunzipSync(readFileSync(join(folder, `${name}.csv.gz`))), { columns: true });
}

const flights: readonly Flight[] = read<Record<keyof Flight, string>>('flights').map((row) => ({
  ...row,
  delay: Number(row.delay),
  distance: Number(row.distance),
}));
const airports = new Map<string, { name: string; city: string }>();
for (const row of read<{ iata: string; name: string; city: string }>('airports')) {
  airports.set(row.iata, { name: row.name, city: row.city });
}

const hotAndCold: Expected = {
  container: 'Flights',
  type: 'flight',
  describe: (row) => `${String(row['id'])} from ${String(row['origin'])}`,
  rows: new Map(),
};
const arrivals: Expected = {
  container: 'FlightsByDestination',
  type: 'arrival',
  describe: (row) => `${String(row['id'])} to ${String(row['destination'])}`,
  rows: new Map(),
};
const originDays: Expected = {
  container: 'OriginDays',
  type: 'originDay',
  describe: (row) => `${String(row['origin'])} on ${String(row['day'])}`,
  rows: new Map(),
};
const routes: Expected = {
  container: 'Routes',
  type: 'route',
  describe: (row) => `${String(row['origin'])} to ${String(row['destination'])}`,
  rows: new Map(),
};

const total = { flights: 0, delayed: 0, miles: 0 };
const tallies = new Map<
  Expected,
  Map<string, { key: Fields; flights: number; delayed: number; sum: number; worst: number; miles: number }>
>();

function tally(into: Expected, key: Fields, flight: Flight): void {
  const groups = tallies.get(into) ?? new Map();
  tallies.set(into, groups);
  const name = into.describe(key);
  const group = groups.get(name) ?? { key, flights: 0, delayed: 0, sum: 0, worst: flight.delay, miles: 0 };
  groups.set(name, group);
  group.flights += 1;
  if (flight.delay >= 15) group.delayed += 1;
  group.sum += flight.delay;
  if (flight.delay > group.worst) group.worst = flight.delay;
  group.miles += flight.distance;
}

for (const [at, flight] of flights.entries()) {
  const { origin, destination, date, delay, distance } = flight;
  total.flights += 1;
  if (delay >= 15) total.delayed += 1;
  total.miles += distance;
  const row: Fields = { id: String(at + 1), origin, destination, date, delay, distance };
  hotAndCold.rows.set(hotAndCold.describe(row), row);
  const arrival: Fields = {
    id: String(at + 1),
    destination,
    destinationName: airports.get(destination)?.name ?? null,
    destinationCity: airports.get(destination)?.city ?? null,
    origin,
    originName: airports.get(origin)?.name ?? null,
    originCity: airports.get(origin)?.city ?? null,
    date,
    delay,
    distance,
  };
  arrivals.rows.set(arrivals.describe(arrival), arrival);
  tally(originDays, { origin, day: date.slice(0, 10) }, flight);
  tally(routes, { origin, destination }, flight);
}
for (const [into, groups] of tallies) {
  for (const [name, { key, flights: n, delayed, sum, worst, miles }] of groups) {
    into.rows.set(name, { ...key, flights: n, delayed, averageDelay: sum / n, worstDelay: worst, miles });
  }
}

type Row = Readonly<Record<string, unknown>>;

/** Differences of one container, as lines; each document is compared field by field, and its id must be its own alone. */
function compare({ container, describe, rows }: Expected, found: readonly Row[]): string[] {
  const differences: string[] = [];
  const seen = new Set<string>();
  for (const row of found) {
    const name = describe(row);
    const wanted = rows.get(name);
    if (!wanted) differences.push(`${container}: ${name} is there and should not be`);
    else if (seen.has(name)) differences.push(`${container}: ${name} is there twice`);
    else {
      const id = 'id' in wanted ? [] : ['id'];
      const own = Object.keys(row).filter((field) => !field.startsWith('_') && ![...id, 'type'].includes(field));
      for (const field of new Set([...Object.keys(wanted), ...own])) {
        if (row[field] === wanted[field]) continue;
        differences.push(
          `${container}: ${name} has ${field} ${JSON.stringify(row[field])}, not ${JSON.stringify(wanted[field])}`,
        );
      }
    }
    seen.add(name);
  }
  for (const name of rows.keys()) if (!seen.has(name)) differences.push(`${container}: ${name} is missing`);
  return differences;
}

async function documents(client: CosmosClient, container: string, type: string): Promise<Row[]> {
  const query = { query: 'SELECT * FROM c WHERE c.type = @type', parameters: [{ name: '@type', value: type }] };
  return (await client.database(database).container(container).items.query<Row>(query).fetchAll()).resources;
}

type ReadBlob = (name: string) => Promise<Buffer>;

/** The blobs that `millrace dev --data` has kept: each part of a name is encoded, and a `$` ends it. */
const inFolder = (of: string): ReadBlob => {
  const encoded = (part: string): string => encodeURIComponent(part).replaceAll('~', '%7E');
  return async (name) => readFileSync(`${join(of, ...name.split('/').map(encoded))}$`);
};

function inAccount(): ReadBlob | undefined {
  const { STORAGE: storage } = process.env;
  if (!storage) return undefined;
  const account = BlobServiceClient.fromConnectionString(storage).getContainerClient(container);
  return (name) => account.getBlobClient(name).downloadToBuffer();
}

/** Archived flights: their entries in the state container say in which line of which blob each of them lies. */
async function archived(client: CosmosClient, storage: ReadBlob | undefined): Promise<Row[]> {
  const entries = await documents(client, process.env['STATE_CONTAINER'] ?? 'millrace', 'millrace.archived');
  const places = entries.filter(({ state }) => state === 'archived').map(({ blob }) => blob as Place);
  if (places.length > 0 && !storage)
    throw new Error(`${places.length} flights are in the archive; set STORAGE, or give --data of a run with its blobs`);
  const lines = new Map<string, string[]>();
  for (const name of new Set(places.map((place) => place.name))) {
    const bytes = (await storage?.(name)) ?? Buffer.alloc(0);
    lines.set(name, gunzipSync(bytes).toString().trimEnd().split('\n'));
  }
  return places.map(({ name, line }) => (JSON.parse(lines.get(name)?.[line] ?? '{"doc":{}}') as { doc: Row }).doc);
}
interface Place {
  readonly name: string;
  readonly line: number;
}

const { values: flags } = parseArgs({
  options: {
    endpoint: { type: 'string' },
    key: { type: 'string' },
    database: { type: 'string' },
    data: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});
const server =
  flags.data === undefined
    ? undefined
    : await serve(flags.data).catch((error: unknown) => {
        console.error(String(error));
        process.exit(2);
      });
const connection = new Map(
  (server?.connectionString ?? process.env['COSMOS'] ?? '').split(';').map((part): [string, string] => {
    const at = part.indexOf('=');
    return [part.slice(0, at).trim(), part.slice(at + 1)];
  }),
);
const endpoint = flags.endpoint ?? connection.get('AccountEndpoint');
const key = flags.key ?? connection.get('AccountKey');
const database = flags.database ?? process.env['COSMOS_DATABASE'] ?? 'flights';
if (!endpoint || !key) {
  console.error(
    'No account: give --data, the folder of a run that has ended, or --endpoint and --key, or set COSMOS to AccountEndpoint=…;AccountKey=…',
  );
  process.exit(2);
}

interface Server {
  readonly connectionString: string;
  readonly stop: () => void;
}

/** The server over the data that a run of `millrace dev --data` left behind, as a process of its own. */
async function serve(data: string): Promise<Server> {
  const bin = join(import.meta.dirname, '../bin/millrace.mjs');
  const child = spawn(process.execPath, [bin, 'emulator', 'start', '--port', '0', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const connectionString = await heard(child, /COSMOS='([^']+)'/, data);
  return { connectionString, stop: () => child.kill() };
}

/** Resolves with the first match in a process's output. Reads on to the end, because a full pipe would block the process. */
async function heard(child: ChildProcess, pattern: RegExp, data: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let said = '';
  child.stdout?.on('data', (text: unknown) => {
    said += String(text);
    const found = pattern.exec(said)?.[1];
    if (found !== undefined) resolve(found);
  });
  child.once('exit', () => reject(new Error(`The server over ${data} did not start`)));
  return promise;
}

const differences: string[] = [];
const halves = { cold: 0, hot: 0 };
const container = process.env['STORAGE_CONTAINER'] ?? 'archive';
const blobs = flags.data === undefined ? undefined : join(flags.data, 'blobs', container);
try {
  const archive = blobs !== undefined && existsSync(blobs) ? inFolder(blobs) : inAccount();
  const client = new CosmosClient({ endpoint, key, connectionPolicy: { enableEndpointDiscovery: false } });
  const hot = await documents(client, hotAndCold.container, hotAndCold.type);
  const cold = await archived(client, archive);
  Object.assign(halves, { cold: cold.length, hot: hot.length });
  differences.push(...compare(hotAndCold, [...hot, ...cold]));
  for (const expected of [arrivals, originDays, routes])
    differences.push(...compare(expected, await documents(client, expected.container, expected.type)));
  client.dispose();
} catch (error) {
  console.error(
    `What lies in ${database} at ${endpoint} can't be read: ${error instanceof Error ? error.message : String(error)}`,
  );
  process.exitCode = 2;
} finally {
  server?.stop();
}
if (process.exitCode === 2) process.exit();

const counts = { ...total, ...halves, originDays: originDays.rows.size, routes: routes.rows.size };
if (flags.json)
  console.log(JSON.stringify({ ...counts, differences: differences.length, first: differences.slice(0, 20) }));
else {
  const lines = [
    [counts.flights, 'flights'],
    [counts.cold, 'cold'],
    [counts.hot, 'hot'],
    [counts.delayed, 'delayed'],
    [counts.miles, 'miles'],
    [counts.originDays, 'origin-days'],
    [counts.routes, 'routes'],
  ] as const;
  for (const [count, what] of lines) console.log(`${count.toLocaleString('en-US')} ${what}`);
  for (const difference of differences.slice(0, 20)) console.log(difference);
  console.log(
    differences.length === 0 ? 'Every document agrees.' : `${differences.length.toLocaleString('en-US')} differences.`,
  );
}
process.exit(differences.length === 0 ? 0 : 1);
