// from cosmosdb_data_model.md, sha256 08e1c4c37cae574df5d4319e91b475937aa92cc76ce75b1f72f055883e2c825f

import {
  type Infer,
  autoscale,
  container,
  defineModel,
  document,
  indexed,
  int,
  moment,
  nullable,
  number,
  optional,
  text,
} from 'millrace';

export const m = defineModel(
  {
    Flights: container(
      '/origin',
      {
        flight: document({
          id: text,
          origin: text,
          destination: text,
          date: text,
          delay: int,
          distance: int,
          deletedAt: optional(moment),
          ttl: optional(int),
        }),
      },
      {
        ttl: 'per document',
        index: indexed('/type', '/origin', '/date', '/deletedAt'),
        throughput: autoscale(12_000),
      },
    ),
    Airports: container(
      '/id',
      {
        airport: document({
          id: text,
          name: text,
          city: text,
          state: text,
          country: text,
          latitude: number,
          longitude: number,
        }),
      },
      { reference: true, throughput: autoscale(4_000) },
    ),
    FlightsByDestination: container(
      '/destination',
      {
        arrival: document({
          id: text,
          destination: text,
          destinationName: nullable(text),
          destinationCity: nullable(text),
          origin: text,
          originName: nullable(text),
          originCity: nullable(text),
          date: text,
          delay: int,
          distance: int,
        }),
      },
      { ttl: 'per document', index: indexed('/type', '/destination', '/date'), throughput: autoscale(20_000) },
    ),
    OriginDays: container(
      '/origin',
      {
        originDay: document({
          id: text,
          origin: text,
          day: text,
          flights: int,
          delayed: int,
          averageDelay: number,
          worstDelay: int,
          miles: int,
        }),
      },
      { ttl: 'per document', index: indexed('/type', '/origin', '/day'), throughput: autoscale(20_000) },
    ),
    Routes: container(
      '/origin',
      {
        route: document({
          id: text,
          origin: text,
          destination: text,
          flights: int,
          delayed: int,
          averageDelay: int,
          worstDelay: int,
          miles: int,
        }),
      },
      { ttl: 'per document', index: indexed('/type', '/origin'), throughput: autoscale(30_000) },
    ),
  },
  { examples: './model.examples.json' },
);

export type Flight = Infer<typeof m.Flights.flight>;
export type Airport = Infer<typeof m.Airports.airport>;
export type Arrival = Infer<typeof m.FlightsByDestination.arrival>;
export type OriginDay = Infer<typeof m.OriginDays.originDay>;
export type Route = Infer<typeof m.Routes.route>;
