// Runs the patterns of a design on the embedded server, and adds up what its meter says.
import {
  type Container,
  type CosmosClient,
  type Database,
  type ItemResponse,
  type JSONValue,
  PartitionKeyDefinitionVersion,
  PartitionKeyKind,
} from '@azure/cosmos';
import type { Needs } from '../../src/model/propose/needs.ts';
import { type Data, type Doc, dataOf } from './data.ts';

/** A container, and the physical partitions that its data and load take. */
export interface Place {
  readonly name: string;
  readonly paths: readonly string[];
  readonly partitions: number;
  /** Paths that are indexed; all if absent. */
  readonly indexed?: readonly string[];
}

export interface Put {
  readonly place: string;
  readonly doc: Doc;
}

/** One request of a pattern, for one document of its entity. */
export type Step =
  | { readonly kind: 'point-read'; readonly place: string; readonly doc: Doc }
  | {
      readonly kind: 'query';
      readonly place: string;
      readonly text: string;
      readonly values: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'create' | 'replace' | 'upsert' | 'delete'; readonly place: string; readonly doc: Doc };

/** A design as something that runs. */
export interface Plan {
  readonly places: readonly Place[];
  /** What is stored of all documents. */
  stored(data: Data): readonly Put[];
  /** The requests of a pattern for this document; of a create, a document that doesn't exist yet. */
  steps(id: string, doc: Doc, data: Data): readonly Step[];
  /** What derived containers write after such a write. */
  derived(id: string, doc: Doc, data: Data): readonly Step[];
}

export interface Measured {
  /** RU of one execution by pattern, without derived writes; the mean of several. */
  readonly patterns: ReadonlyMap<string, number>;
  /** RU of what is derived from one execution. */
  readonly derived: ReadonlyMap<string, number>;
  /** RU/s of all patterns and what is derived, by container. */
  readonly average: ReadonlyMap<string, number>;
  readonly peak: ReadonlyMap<string, number>;
}

const TIMES = 5;
const BATCH = 50;
/** RU/s by which the server begins a container on one more physical partition. */
const PARTITION_RU = 6_000;

/** Each pattern with documents of its own. */
export async function measure(client: CosmosClient, name: string, needs: Needs, plan: Plan): Promise<Measured> {
  const [patterns, derived] = [new Map<string, number>(), new Map<string, number>()];
  const [average, peak] = [new Map<string, number>(), new Map<string, number>()];
  const paths = new Map(plan.places.map((place) => [place.name, place.paths]));
  const add = (to: Map<string, number>, key: string, ru: number): void => void to.set(key, (to.get(key) ?? 0) + ru);
  for (const access of needs.accesses) {
    const data = dataOf(needs, access);
    const { database } = await client.databases.create({ id: `${name}-${access.id}` });
    for (const place of plan.places) await create(database, place);
    const run = (step: Step): Promise<number> =>
      charged(database.container(step.place), paths.get(step.place) ?? [], step);
    const puts = plan.stored(data);
    for (let at = 0; at < puts.length; at += BATCH)
      await Promise.all(puts.slice(at, at + BATCH).map(({ place, doc }) => run({ kind: 'upsert', place, doc })));
    const docs = data.get(access.entity) ?? [];
    for (let time = 0; time < TIMES; time++) {
      const before = docs[Math.floor((time * docs.length) / TIMES)]!;
      const doc = access.kind === 'create' ? { ...before, id: `${before.id}-new` } : before;
      const parts: [Map<string, number>, readonly Step[]][] = [
        [patterns, plan.steps(access.id, doc, data)],
        [derived, plan.derived(access.id, doc, data)],
      ];
      for (const [ru, steps] of parts)
        for (const step of steps) {
          const charge = (await run(step)) / TIMES;
          add(ru, access.id, charge);
          add(average, step.place, access.average * charge);
          add(peak, step.place, access.peak * charge);
        }
    }
    await database.delete();
  }
  return { patterns, derived, average, peak };
}

async function create(database: Database, { name, paths, partitions, indexed }: Place): Promise<void> {
  await database.containers.create({
    id: name,
    partitionKey: {
      paths: [...paths],
      ...(paths.length > 1 && { kind: PartitionKeyKind.MultiHash, version: PartitionKeyDefinitionVersion.V2 }),
    },
    throughput: partitions * PARTITION_RU,
    ...(indexed && {
      indexingPolicy: { includedPaths: indexed.map((path) => ({ path })), excludedPaths: [{ path: '/*' }] },
    }),
  });
}

async function charged(container: Container, paths: readonly string[], step: Step): Promise<number> {
  if (step.kind === 'query') {
    const parameters = Object.entries(step.values).map(([name, value]) => ({
      name: `@${name}`,
      value: value as JSONValue,
    }));
    let charge = 0;
    const key = keyOf(paths, step);
    const iterator = container.items.query(
      { query: step.text, parameters },
      key.length === 0 ? {} : { partitionKey: key },
    );
    while (iterator.hasMoreResults()) charge += (await iterator.fetchNext()).requestCharge;
    return charge;
  }
  const key = paths.map((path) => step.doc[path.slice(1)] as string);
  const item = container.item(step.doc.id, key.length === 1 ? key[0] : key);
  switch (step.kind) {
    case 'point-read':
      return found(await item.read<Doc>(), step);
    case 'create':
      return (await container.items.create(step.doc)).requestCharge;
    case 'upsert':
      return (await container.items.upsert(step.doc)).requestCharge;
    case 'replace':
      return (await item.replace({ ...step.doc })).requestCharge;
    case 'delete':
      break;
  }
  const { requestCharge } = await item.delete();
  await container.items.create(step.doc);
  return requestCharge;
}

/** The levels of the key that a query names, from the first on: an application passes them. */
function keyOf(paths: readonly string[], { text, values }: Extract<Step, { kind: 'query' }>): string[] {
  const key: string[] = [];
  for (const path of paths) {
    const [, name] = new RegExp(String.raw`c\.${path.slice(1)} = @(\w+)`).exec(text) ?? [];
    if (name === undefined) break;
    key.push(values[name] as string);
  }
  return key;
}

/** A read that finds nothing would be cheap. */
function found({ requestCharge, resource }: ItemResponse<Doc>, { place, doc }: { place: string; doc: Doc }): number {
  if (!resource) throw new Error(`${place} has no ${doc.id}`);
  return requestCharge;
}
