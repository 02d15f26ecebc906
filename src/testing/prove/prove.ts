// Proves a model and its pipeline on the embedded server: stage by stage, every access pattern is asked as its document
// says, of what projections made and of what their sources give when worked out anew.
import { AssertionError } from 'node:assert/strict';
import { CosmosClient } from '@azure/cosmos';
import { canonical } from '../../base/json.ts';
import type { Doc } from '../../definition/kinds.ts';
import { ownFields, rowKey } from '../../definition/recompute.ts';
import { DeadLetters } from '../../engine/dead-letters.ts';
import type { Design, Requirements } from '../../model/documents.ts';
import type { Model } from '../../model/model.ts';
import { fetchAll } from '../../operations/fetch-all.ts';
import { planModel } from '../../operations/model/apply.ts';
import type { Screen } from '../../operations/screen.ts';
import type { LoadedPipeline, Services } from '../../operations/workspace.ts';
import type { Adversity } from '../delivery.ts';
import type { Documents } from '../documents.ts';
import { Scenario } from '../scenario.ts';
import { servicesOn, onePartitionEach } from '../test-pipeline.ts';
import { sweepAll } from './archive.ts';
import { type PatternProof, type Verdict, patternsOf } from './asking.ts';
import { Changes } from './changes.ts';
import { type ExampleProof, proveExamples } from './examples.ts';
import { type ByContainer, derivedTypes, expectedDocuments, refName } from './oracle.ts';

export interface StageProof {
  readonly stage: string;
  /** Changes written, and how many rows lie under another key of their sink than before. */
  readonly changes: number;
  readonly moved: number;
  /** Changes that projections parked until then. */
  readonly parked: readonly string[];
  /** What projections made that isn't what their sources give. */
  readonly difference?: string;
}

export interface Proof {
  readonly pipeline: string;
  readonly seed: number;
  readonly stages: readonly StageProof[];
  readonly examples: ExampleProof;
  readonly patterns: readonly PatternProof[];
  /** What was left out, and why. */
  readonly notes: readonly string[];
  readonly totals: Readonly<Record<Verdict, number>>;
}

export interface ProveOptions {
  readonly seed: number;
  /** Ids of patterns; absent: all. */
  readonly only?: readonly string[] | undefined;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
}

const LAG_MS = 10;
const NEVER = new AbortController().signal;
const EVERYTHING = { redeliver: true, reorder: true, crash: true, stale: true };

interface Stage {
  readonly name: string;
  readonly changes: () => Documents;
  readonly adversity?: Adversity;
}

/** @throws what the server, or a pipeline that can't be run at all, throws */
export async function prove(
  loaded: LoadedPipeline,
  { design, requirements }: { readonly design: Design; readonly requirements: Requirements | undefined },
  { seed, only, signal, screen }: ProveOptions,
): Promise<Proof> {
  const { startEmulator } = await import('../../emulator/index.ts');
  await using emulator = await closing(startEmulator({ seed }));
  const client = new CosmosClient({ ...emulator.server.clientOptions, consistencyLevel: 'Session' });
  const services = servicesOn(client, client.database('proof'));
  // Nothing is sent to anybody: neither messages nor events.
  const own = { archives: [], publishes: [], ingests: [], effects: [] };
  const model = onePartitionEach(loaded.model);
  const inside: LoadedPipeline = { ...loaded, model, pipeline: { ...loaded.pipeline, ...own } };
  const prepare = (of: Services) => async (): Promise<void> => {
    for (const step of await planModel(inside, of)) await step.apply();
  };
  const lag = (on: boolean): void => emulator.server.faults(on ? { replicaLagMs: LAG_MS / 2 } : {});
  const ground = { loaded: inside, services, prepare: prepare(services), lag, lagMs: LAG_MS };
  const changes = new Changes(inside, seed);
  const stages: readonly Stage[] = [
    { name: 'examples', changes: () => changes.examples() },
    { name: 'update', changes: () => changes.updates(1) },
    { name: 'key change', changes: () => changes.moves() },
    { name: 'delete mark', changes: () => changes.deletions() },
    { name: 'redelivery', changes: () => changes.updates(2), adversity: { redeliver: true, crash: true, seed } },
    { name: 'reordering', changes: () => changes.updates(3), adversity: { ...EVERYTHING, seed } },
  ];
  const asking = patternsOf(design, requirements, model, only);
  const proofs: StageProof[] = [];
  const seen = new Map<string, Map<string, Doc>>();
  let before: ByContainer = new Map();
  let examples: ExampleProof | undefined;
  const look = async (name: string, expected: ByContainer): Promise<void> => {
    const scratch = servicesOn(client, client.database(`expected-${proofs.length}`));
    await prepare(scratch)();
    for (const [container, documents] of expected)
      for (const doc of documents) await scratch.database.container(container).items.upsert(doc);
    remember(seen, expected, model);
    const sides = { actual: services.database, expected: scratch.database };
    for (const one of asking) await one.look(name, sides, expected, seen);
    await scratch.database.delete();
  };
  for (const [at, stage] of stages.entries()) {
    signal.throwIfAborted();
    screen.progress(`stage ${stage.name}`, at, stages.length + Math.min(1, loaded.pipeline.archives.length));
    const written = stage.changes();
    const difference = await scenario(new Scenario(ground, {}).when(written, stage.adversity));
    const parked = (await new DeadLetters(services.state).list()).map(
      ({ projection, container, id, message }) => `${projection}: ${container}/${id}: ${message}`,
    );
    const stored = await everything(services, model);
    const expected = expectedDocuments(inside, stored);
    await look(stage.name, expected);
    if (at === 0) examples = proveExamples(design, inside, stored);
    const count = Object.values(written).reduce((sum, list) => sum + list.length, 0);
    const moved = movedBetween(before, expected, inside);
    proofs.push({ stage: stage.name, changes: count, moved, parked, ...(difference !== undefined && { difference }) });
    before = expected;
  }
  const notes: string[] = [];
  if (loaded.pipeline.archives.length > 0) {
    signal.throwIfAborted();
    screen.progress('stage archive', stages.length, stages.length + 1);
    const { archived } = await sweepAll(loaded, services, before);
    const stored = await everything(services, model);
    const hot = new Set(loaded.pipeline.archives.map(({ from }) => from.container));
    // What is derived must be as before: archiving never retracts. What is hot is what is left.
    const left = expectedDocuments(inside, stored);
    const expected = new Map([...before].map(([name, docs]) => [name, hot.has(name) ? (left.get(name) ?? []) : docs]));
    await look('archive', expected);
    const difference = changedSinks(inside, stored, before);
    proofs.push({ stage: 'archive', changes: archived, moved: 0, parked: [], ...(difference && { difference }) });
    if (archived === 0) notes.push('archive: no document of the examples’ shape is old enough to leave');
    notes.push('archive: the hot half; `millrace archive restore` isn’t tried');
  }
  const silent = [...loaded.pipeline.effects, ...loaded.pipeline.publishes, ...loaded.pipeline.ingests];
  if (silent.length > 0) notes.push(`not run, as it reaches out: ${silent.map(({ name }) => name).join(', ')}`);
  if (changes.unmarked.length > 0)
    notes.push(`not deleted, as no example shows the mark: ${changes.unmarked.join(', ')}`);
  if (proofs.every(({ moved }) => moved === 0)) notes.push('no change moved a row to another key of its sink');
  client.dispose();
  const patterns = asking.map((one) => one.proof());
  const count = (verdict: Verdict): number => patterns.filter((of) => of.verdict === verdict).length;
  return {
    pipeline: loaded.pipeline.name,
    seed,
    stages: proofs,
    examples: examples ?? { compared: 0, different: [] },
    patterns,
    notes,
    totals: { proved: count('proved'), 'not run': count('not run'), different: count('different') },
  };
}

async function closing<T extends { close(): Promise<void> }>(starting: Promise<T>) {
  const server = await starting;
  return { server, [Symbol.asyncDispose]: () => server.close() };
}

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

async function everything({ database }: Services, { containers }: Model): Promise<Map<string, Doc[]>> {
  const stored = new Map<string, Doc[]>();
  for (const { name } of containers) {
    const documents: Doc[] = [];
    for await (const doc of fetchAll<Doc>(database.container(name), 'SELECT * FROM c', NEVER)) documents.push(doc);
    stored.set(name, documents);
  }
  return stored;
}

/** Whatever was there once: a removed row is asked for as well, and must be gone. */
function remember(seen: Map<string, Map<string, Doc>>, now: ByContainer, { containers }: Model): void {
  for (const { name, partitionKey } of containers) {
    const known = seen.get(name) ?? new Map<string, Doc>();
    seen.set(name, known);
    for (const doc of now.get(name) ?? []) known.set(rowKey(doc, partitionKey), doc);
  }
}

/** Copies that have lain under another key before: the same type and id, another row. */
function movedBetween(before: ByContainer, after: ByContainer, { pipeline, model }: LoadedPipeline): number {
  let moved = 0;
  for (const { into, kind } of pipeline.projections) {
    if (kind !== 'copy') continue;
    const paths = model.containers.find(({ name }) => name === into.container)?.partitionKey ?? [];
    const rows = (of: ByContainer): Set<string> =>
      new Set((of.get(into.container) ?? []).filter(({ type }) => type === into.type).map((doc) => rowKey(doc, paths)));
    const ids = (keys: readonly string[]): unknown[] => keys.map((key) => (JSON.parse(key) as unknown[]).at(-1));
    const [old, now] = [rows(before), rows(after)];
    const here = new Set(ids([...now].filter((key) => !old.has(key))));
    moved += new Set(ids([...old].filter((key) => !now.has(key))).filter((id) => here.has(id))).size;
  }
  return moved;
}

function changedSinks({ pipeline }: LoadedPipeline, stored: ByContainer, before: ByContainer): string | undefined {
  const derived = derivedTypes(pipeline);
  for (const [container, documents] of before) {
    const ours = (of: readonly Doc[]): string[] =>
      of
        .filter((doc) => derived.has(refName({ container, type: String(doc['type']) })) && doc['_mr'] !== null)
        .map((doc) => canonical(ownFields(doc)))
        .toSorted();
    const [was, is] = [ours(documents), ours(stored.get(container) ?? [])];
    const at = was.findIndex((row, index) => row !== is[index]);
    if (at >= 0) return `${container}: ${was[at]} was ${is[at] ?? 'removed'} by archiving`;
  }
  return undefined;
}
