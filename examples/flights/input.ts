// The flights and airports of data/, as the steps that put them into Cosmos DB.
import { readFile } from 'node:fs/promises';
import { gunzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import type { LoadOptions, Step } from 'millrace';
import type { Airport, Flight } from './model.ts';

type FlightRow = Readonly<Record<'date' | 'delay' | 'distance' | 'origin' | 'destination', string>>;
type AirportRow = Readonly<Record<'iata' | 'name' | 'city' | 'state' | 'country' | 'latitude' | 'longitude', string>>;

async function rowsOf<T>(name: string): Promise<T[]> {
  const packed = await readFile(new URL(`data/${name}.csv.gz`, import.meta.url));
  return parse<T>(gunzipSync(packed), { columns: true });
}

export async function readFlights(): Promise<Flight[]> {
  const rows = await rowsOf<FlightRow>('flights');
  // Row numbers, from 1 on.
  return rows.map(({ date, delay, distance, origin, destination }, at) => ({
    id: String(at + 1),
    type: 'flight',
    origin,
    destination,
    date,
    delay: Number(delay),
    distance: Number(distance),
  }));
}

export async function readAirports(): Promise<Airport[]> {
  const rows = await rowsOf<AirportRow>('airports');
  return rows.map(({ iata, name, city, state, country, latitude, longitude }) => ({
    id: iata,
    type: 'airport',
    name,
    city,
    state,
    country,
    latitude: Number(latitude),
    longitude: Number(longitude),
  }));
}

/** The whole of both files: airports first, then the flights in an order that the seed shuffles. */
export async function* load({ seed }: LoadOptions): AsyncGenerator<Step, void, undefined> {
  for (const airport of await readAirports()) yield { container: 'Airports', upsert: { ...airport } };
  for (const flight of shuffled(await readFlights(), random(seed)))
    yield { container: 'Flights', upsert: { ...flight } };
}

/** Swaps a random one of those not yet taken with the last of them, until all are. */
function shuffled<T>(list: T[], order: () => number): T[] {
  for (let last = list.length - 1; last > 0; last--) {
    const at = Math.floor(order() * (last + 1));
    [list[at], list[last]] = [list[last] as T, list[at] as T];
  }
  return list;
}

/** Mulberry32: small, even enough, and the same everywhere. */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
