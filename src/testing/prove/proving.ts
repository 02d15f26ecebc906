// The stages of a proof, one after another on one account: each writes, delivers, runs the patterns, keeps the result.
import { AssertionError } from 'node:assert/strict';
import type { Database } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import { isEmptied } from '../../definition/emptied.ts';
import type { ArchiveSpec, Doc, PublishSpec } from '../../definition/specs.ts';
import { ownFields, rowKey } from '../../definition/oracle/recompute.ts';
import { DeadLetters } from '../../engine/dead-letters/dead-letters.ts';
import { type Container, type Model, keyPathsOf } from '../../model/model.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { Adversity } from '../delivery.ts';
import type { Documents } from '../documents.ts';
import { type Ground, Scenario } from '../scenario.ts';
import { ColdHalf } from './archive.ts';
import { type Found, type Sides, readOne } from './ask.ts';
import type { Asking } from './asking.ts';
import type { Evaluate } from './meaning.ts';
import type { Changes } from './changes.ts';
import { askEvents, openHubs } from './events.ts';
import { type ByContainer, derivedTypes, expectedDocuments, refName } from './oracle.ts';
import { crossingOf } from './tenants.ts';

export interface StageProof {
  readonly stage: string;
  /** Changes written; for an archive, the documents archived or restored. */
  readonly changes: number;
  /** Rows that have another key in their sink than before. */
  readonly moved: number;
  /** Changes that projections have parked so far. */
  readonly parked: readonly string[];
  /** The first derived document that combines tenants, that differs from the recomputed one, or that an archive lost. */
  readonly difference?: string;
}

type ColdSide = NonNullable<Sides['cold']>;
const NEVER = new AbortController().signal;

export class Proving {
  readonly proofs: StageProof[] = [];
  readonly notes: string[] = [];
  readonly #ground: Ground;
  readonly #asking: readonly Asking[];
  readonly #scratch: (name: string) => Promise<Database>;
  readonly #evaluate: Evaluate;
  /** Every document that ever existed: patterns also ask for removed rows, which must be gone. */
  readonly #seen = new Map<string, Map<string, Doc>>();
  #before: ByContainer = new Map();
  /** After stage `archive`: the ground of later deliveries, and the archived documents that weren't written since. */
  #archive: { readonly half: ColdHalf; readonly ground: Ground; readonly left: ByContainer } | undefined;

  /** `scratch` makes a database with the model's containers, for the recomputed documents. */
  constructor(
    ground: Ground,
    asking: readonly Asking[],
    evaluate: Evaluate,
    scratch: (name: string) => Promise<Database>,
  ) {
    this.#evaluate = evaluate;
    this.#ground = ground;
    this.#asking = asking;
    this.#scratch = scratch;
  }

  /** Every document of every container. */
  async stored(): Promise<ByContainer> {
    const { services, loaded } = this.#ground;
    return everything(services, loaded.model);
  }

  async deliver(stage: string, written: Documents, adversity: Adversity = {}): Promise<void> {
    const difference = await scenario(new Scenario(this.#ground, {}).when(written, adversity));
    await this.#end(stage, countOf(written), difference);
  }

  /** Runs each access pattern that writes, by its own operation, then checks what is derived from all writes. */
  async write(stage: string, changes: Changes): Promise<void> {
    const wrote: Asking[] = [];
    for (const one of this.#asking)
      if (await one.write(stage, this.#ground.services.place.database, changes)) wrote.push(one);
    if (wrote.length === 0) return;
    const difference = await scenario(new Scenario(this.#ground, {}));
    if (difference !== undefined) for (const one of wrote) one.blame(stage, difference);
    await this.#end(stage, wrote.length, difference);
  }

  /** Checks that the last event of each document is of its newest version, although pages come again. */
  async publish(stage: string, publishes: readonly PublishSpec[], written: Documents, seed: number): Promise<void> {
    const { loaded } = this.#ground;
    await using hubs = await openHubs(publishes, seed);
    const publishing = { ...loaded, pipeline: { ...loaded.pipeline, publishes } };
    const ground = { ...this.#ground, loaded: publishing, hub: hubs.sink };
    await new Scenario(ground, {}).when(written, { redeliver: true, seed }).deliver();
    const stored = await this.stored();
    let difference: string | undefined;
    for (const spec of publishes) {
      const asked = askEvents(spec, hubs.events(spec.to), stored, loaded);
      difference ??= asked.first;
      for (const one of this.#asking) one.published(stage, spec.name, asked);
    }
    await this.#end(stage, countOf(written), difference ?? this.#wrong(expectedDocuments(loaded, stored), stored));
  }

  /** Checks that archived documents are in the blobs unchanged, and that nothing derived from them changes. */
  async archive(stage: string, archives: readonly ArchiveSpec[]): Promise<void> {
    const { loaded, services } = this.#ground;
    const archiving = { ...loaded, pipeline: { ...loaded.pipeline, archives } };
    const half = await ColdHalf.open(archiving, services);
    this.#archive = { half, ground: { ...this.#ground, loaded: archiving, cold: half.read }, left: new Map() };
    const were = await this.stored();
    const swept = await half.sweep(were);
    if (swept === 0) this.notes.push('archive: no document is old enough to be archived');
    await this.#endCold(stage, swept, were);
  }

  /** Delivers changes of documents that archived ones were joined with, and new versions of some archived ones. */
  async deliverToCold(stage: string, written: Documents): Promise<void> {
    if (!this.#archive) return;
    const { ground, left } = this.#archive;
    await new Scenario(ground, {}).when(written).deliver();
    await this.#endCold(stage, countOf(written), left);
  }

  /** Checks that all documents come back unchanged, and that nothing derived from them changes. */
  async restore(stage: string): Promise<void> {
    if (!this.#archive) return;
    const { half, ground, left } = this.#archive;
    const restored = await half.restore();
    await new Scenario(ground, {}).deliver();
    const { database } = this.#ground.services.place;
    await this.#endCold(stage, restored, left, (container, doc) => readOne(database, container, doc));
  }

  /** `were`: documents that must be in their container or in the archive now, except those written since. */
  async #endCold(stage: string, changes: number, were: ByContainer, read?: ColdSide['read']): Promise<void> {
    if (!this.#archive) return;
    const { loaded, lagMs } = this.#ground;
    const { half } = this.#archive;
    const cold = await half.documents(lagMs);
    const stored = await this.stored();
    const [fault] = await half.faults();
    const there = (all: ByContainer, container: Container, doc: Doc): Doc | undefined =>
      all.get(container.name)?.find((of) => rowKey(of, container.partitionKey) === rowKey(doc, container.partitionKey));
    const left = new Map<string, Doc[]>();
    let lost: string | undefined;
    for (const container of loaded.model.containers.filter(({ name }) => cold.has(name))) {
      const gone = (were.get(container.name) ?? []).filter((doc) => !there(stored, container, doc));
      left.set(container.name, gone);
      for (const doc of cold.get(container.name) ?? [])
        if (there(stored, container, doc))
          lost ??= `${container.name}: ${String(doc['id'])} is both in the container and archived`;
      for (const doc of gone)
        if (canonical(there(cold, container, doc) ?? null) !== canonical(ownFields(doc)))
          lost ??= `${container.name}: ${String(doc['id'])} is not in the archive, or has changed there`;
    }
    const difference = fault ?? lost ?? this.#wrong(expectedDocuments(loaded, stored, cold), stored);
    const side: ColdSide = read
      ? { documents: were, read }
      : { documents: left, read: (container, doc) => Promise.resolve(found(there(cold, container, doc))) };
    this.#archive = { ...this.#archive, left };
    await this.#end(stage, changes, difference, cold, side);
  }

  async #end(
    stage: string,
    changes: number,
    difference: string | undefined,
    cold?: ByContainer,
    side?: ColdSide,
  ): Promise<void> {
    const { loaded, services } = this.#ground;
    const parked = (await new DeadLetters(services.place.state).list()).map(
      ({ projection, container, id, message }) => `${projection}: ${container}/${id}: ${message}`,
    );
    const expected = expectedDocuments(loaded, await this.stored(), cold);
    await this.#look(stage, expected, side);
    const moved = movedBetween(this.#before, expected, loaded);
    const wrong = crossingOf(loaded, cold ? [expected, cold] : [expected]) ?? difference;
    this.proofs.push({ stage, changes, moved, parked, ...(wrong !== undefined && { difference: wrong }) });
    this.#before = expected;
  }

  async #look(stage: string, expected: ByContainer, cold: ColdSide | undefined): Promise<void> {
    const { services, loaded } = this.#ground;
    const scratch = await this.#scratch(`expected-${this.proofs.length}`);
    for (const [container, documents] of expected)
      for (const doc of documents) await scratch.container(container).items.upsert(doc);
    remember(this.#seen, expected, loaded.model);
    const sides = { actual: services.place.database, expected: scratch, ...(cold && { cold }) };
    for (const one of this.#asking) await one.look(stage, sides, expected, this.#seen, this.#evaluate);
    await scratch.delete();
  }

  /** Compares the documents of projections and embeds with the expected ones; returns the first difference in words. */
  #wrong(expected: ByContainer, stored: ByContainer): string | undefined {
    const { pipeline } = this.#ground.loaded;
    const derived = new Set([...derivedTypes(pipeline), ...pipeline.embeds.map(({ into }) => refName(into))]);
    for (const [container, documents] of stored) {
      const ours = (of: readonly Doc[]): string[] =>
        of
          .filter((doc) => derived.has(refName({ container, type: String(doc['type']) })) && doc['_mr'] !== null)
          .filter((doc) => !isEmptied(doc))
          .map((doc) => canonical(ownFields(doc)))
          .toSorted();
      const [is, right] = [ours(documents), ours(expected.get(container) ?? [])];
      const lacking = right.find((row) => !is.includes(row));
      const odd = is.find((row) => !right.includes(row));
      if (lacking !== undefined || odd !== undefined)
        return `${container}: ${odd ?? 'nothing'} instead of ${lacking ?? 'nothing'}`;
    }
    return undefined;
  }
}

const countOf = (written: Documents): number => Object.values(written).reduce((sum, list) => sum + list.length, 0);

const found = (doc: Doc | undefined): Found => ({ ...(doc && { doc }), ru: 0 });

/** The difference that the scenario's own oracle finds, in words. */
async function scenario(of: Scenario): Promise<string | undefined> {
  try {
    await of.run();
    return undefined;
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
}

async function everything({ place: { database } }: Services, { containers }: Model): Promise<Map<string, Doc[]>> {
  const stored = new Map<string, Doc[]>();
  for (const { name } of containers) {
    const documents: Doc[] = [];
    for await (const doc of fetchAll<Doc>(database.container(name), 'SELECT * FROM c', NEVER)) documents.push(doc);
    stored.set(name, documents);
  }
  return stored;
}

function remember(seen: Map<string, Map<string, Doc>>, now: ByContainer, { containers }: Model): void {
  for (const { name, partitionKey } of containers) {
    const known = seen.get(name) ?? new Map<string, Doc>();
    seen.set(name, known);
    for (const doc of now.get(name) ?? []) known.set(rowKey(doc, partitionKey), doc);
  }
}

/** Counts the copies that had another key before: the same type and id, another row. */
function movedBetween(before: ByContainer, after: ByContainer, { pipeline, model }: LoadedPipeline): number {
  let moved = 0;
  for (const { into, kind } of pipeline.projections) {
    if (kind !== 'copy') continue;
    const paths = keyPathsOf(model, into.container);
    const rows = (of: ByContainer): Set<string> =>
      new Set((of.get(into.container) ?? []).filter(({ type }) => type === into.type).map((doc) => rowKey(doc, paths)));
    const ids = (keys: readonly string[]): unknown[] => keys.map((key) => (JSON.parse(key) as unknown[]).at(-1));
    const [old, now] = [rows(before), rows(after)];
    const here = new Set(ids([...now].filter((key) => !old.has(key))));
    moved += new Set(ids([...old].filter((key) => !now.has(key))).filter((id) => here.has(id))).size;
  }
  return moved;
}
