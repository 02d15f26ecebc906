// What is derived from flights and airports. Section "Change Feed Projections" of the data model says the same in words.
import { aggregate, archive, copy, definePipeline, source } from 'millrace';
import { m } from './model.ts';

/** The part before the blank of `2001/01/01 00:47`. */
const day = (date: string): string => date.slice(0, 10);
const late = (delay: number): number => (delay >= 15 ? 1 : 0);

export default definePipeline({
  name: 'flights',
  model: m,
  sources: [source({ of: m.Flights.flight, deleted: (flight) => flight.deletedAt !== undefined })],
  projections: [
    copy('arrivals', {
      from: m.Flights.flight,
      into: m.FlightsByDestination.arrival,
      maxLag: '5 s',
      with: {
        from: { of: m.Airports.airport, on: { id: 'origin' } },
        to: { of: m.Airports.airport, on: { id: 'destination' } },
      },
      map: (flight, { from, to }) => ({
        id: flight.id,
        destination: flight.destination,
        destinationName: to?.name ?? null,
        destinationCity: to?.city ?? null,
        origin: flight.origin,
        originName: from?.name ?? null,
        originCity: from?.city ?? null,
        date: flight.date,
        delay: flight.delay,
        distance: flight.distance,
      }),
    }),
    aggregate('origin-days', {
      from: m.Flights.flight,
      into: m.OriginDays.originDay,
      maxLag: '30 s',
      // Neither origin nor date of a recorded flight is ever corrected.
      stable: true,
      groupBy: (flight) => ({ origin: flight.origin, day: day(flight.date) }),
      measures: {
        flights: (q) => q.count(),
        delayed: (q) => q.sum((flight) => late(flight.delay)),
        averageDelay: (q) => q.avg((flight) => flight.delay),
        worstDelay: (q) => q.max((flight) => flight.delay),
        miles: (q) => q.sum((flight) => flight.distance),
      },
    }),
    aggregate('routes', {
      from: m.Flights.flight,
      into: m.Routes.route,
      maxLag: '30 s',
      groupBy: (flight) => ({ origin: flight.origin, destination: flight.destination }),
      measures: {
        flights: (q) => q.count(),
        delayed: (q) => q.sum((flight) => late(flight.delay)),
        averageDelay: (q) => q.avg((flight) => flight.delay),
        worstDelay: (q) => q.max((flight) => flight.delay),
        miles: (q) => q.sum((flight) => flight.distance),
      },
    }),
    // January is closed: its flights leave, and what is derived from them stays.
    archive('flights-cold', { from: m.Flights.flight, date: 'date', before: '2001-02-01' }),
  ],
});
