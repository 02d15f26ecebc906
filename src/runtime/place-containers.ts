// Which database a container of a pipeline's part is in. A part of a shard reads and writes the global place too.
import type { Database } from '@azure/cosmos';
import { joinsShards } from '../pipeline/places.ts';
import { type Pipeline, projectionId } from '../pipeline/specs.ts';
import type { Place, Services } from './workspace.ts';

type At = Pick<Services, 'place' | 'global'>;

/** The place of a source container: its feed, and the epochs of its versions. */
export const sourcePlace = ({ part }: Pick<Pipeline, 'part'>, { place, global }: At, container: string): Place =>
  part?.place === 'shard' && !part.inShards.has(container) ? global.home : place;

/** The place's database for everything that a part reads and writes, with the containers of the global place. */
export function placeDatabase({ part }: Pick<Pipeline, 'part'>, { place, global }: At): Database {
  if (part?.place !== 'shard') return place.database;
  return joined(place.database, global.home.database, (name) => name !== place.state.id && !part.inShards.has(name));
}

/**
 * The database of one projection. A projection of all shards into the global place has its locators there too: a document
 * that moves keeps its identity, so the other shard's hosts find what it contributes.
 */
export function projectionDatabase(pipeline: Pipeline, services: At): (id: string) => Database {
  const { part, projections } = pipeline;
  const { place, global } = services;
  const local = placeDatabase(pipeline, services);
  if (part?.place !== 'shard') return () => local;
  const together = joined(global.home.database, place.database, (name) => part.inShards.has(name));
  const ids = new Set<string>(projections.filter((spec) => joinsShards(spec, pipeline)).map(projectionId));
  return (id) => (ids.has(id) ? together : local);
}

/** A database whose containers are another database's where `elsewhere` says so. Its client, and so its budget, is its own. */
function joined(own: Database, other: Database, elsewhere: (name: string) => boolean): Database {
  const container: Database['container'] = (name) => (elsewhere(name) ? other : own).container(name);
  return Object.create(own, { container: { value: container } }) as Database;
}
