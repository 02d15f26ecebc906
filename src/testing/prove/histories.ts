// All short histories of one projection: every sequence of up to four writes of two documents of each source. Pages come
// again, late ones after newer ones, and hosts die; the seed and the history's number decide where. The shortest histories
// run first, so the first that fails is a smallest one.
import { AssertionError } from 'node:assert/strict';
import { canonical } from '../../base/json.ts';
import { same } from '../../definition/declaration.ts';
import type { Doc, EmbedSpec, Pipeline, ProjectionSpec, SourceRef } from '../../definition/specs.ts';
import { rowKey } from '../../definition/oracle/recompute.ts';
import { type Model, keyPathsOf } from '../../model/model.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { type Ground, Scenario } from '../scenario.ts';
import type { Documents } from '../documents.ts';
import { Changes } from './changes.ts';

const LONGEST = 4;
const DOCUMENTS = 2;

export interface HistoriesProof {
  readonly projection: string;
  /** How many histories ran, of how many there are. */
  readonly ran: number;
  readonly all: number;
  /** The first one that failed: its writes in their order, and the difference. */
  readonly failed?: { readonly writes: readonly string[]; readonly difference: string };
}

interface Write {
  readonly container: string;
  readonly doc: Doc;
  readonly name: string;
}

export interface HistoriesOptions {
  readonly loaded: LoadedPipeline;
  readonly seed: number;
  readonly seconds: number;
  readonly signal: AbortSignal;
  /** Opens an empty database with the containers of `loaded`, for one history. */
  readonly ground: (
    loaded: LoadedPipeline,
  ) => Promise<{ readonly ground: Ground; readonly remove: () => Promise<unknown> }>;
  readonly progress: (what: string, done: number, all: number) => void;
}

/** Each projection and embed has an equal share of the time. */
export async function proveHistories(options: HistoriesOptions): Promise<HistoriesProof[]> {
  const { pipeline } = options.loaded;
  const specs = [...pipeline.projections, ...pipeline.embeds];
  const proofs: HistoriesProof[] = [];
  for (const spec of specs) proofs.push(await ofProjection(spec, options, options.seconds / specs.length));
  return proofs;
}

async function ofProjection(
  spec: ProjectionSpec | EmbedSpec,
  { loaded, seed, signal, ground, progress }: HistoriesOptions,
  seconds: number,
): Promise<HistoriesProof> {
  const alone = only(spec, loaded);
  const writes = writesOf(spec, alone, seed);
  const all = countOf(writes.length);
  const end = performance.now() + 1000 * seconds;
  let ran = 0;
  for (const history of histories(writes)) {
    signal.throwIfAborted();
    if (performance.now() > end) break;
    if (ran % 20 === 0) progress(`histories of ${spec.name}`, ran, all);
    const { ground: own, remove } = await ground(alone);
    ran += 1;
    const difference = await differenceOf(own, history, seed * 1_000_000 + ran);
    await remove();
    if (difference !== undefined)
      return { projection: spec.name, ran, all, failed: { writes: history.map(({ name }) => name), difference } };
  }
  return { projection: spec.name, ran, all };
}

async function differenceOf(ground: Ground, history: readonly Write[], seed: number): Promise<string | undefined> {
  let scenario = new Scenario(ground, {});
  for (const { container, doc } of history)
    scenario = scenario.when({ [container]: [doc] }, { redeliver: true, reorder: true, crash: true, seed });
  try {
    await scenario.run();
    return undefined;
  } catch (error) {
    if (error instanceof AssertionError) return error.message;
    throw error;
  }
}

const sourcesOf = (spec: ProjectionSpec | EmbedSpec): SourceRef[] => [
  spec.from,
  ...(spec.kind === 'copy' ? spec.joins.map(({ of }) => of) : []),
  ...(spec.kind === 'reference' ? [spec.tenants] : []),
  ...(spec.kind === 'embed' ? [spec.into] : []),
];

/** The pipeline with this declaration alone, and the containers that it needs. */
function only(spec: ProjectionSpec | EmbedSpec, loaded: LoadedPipeline): LoadedPipeline {
  const [projections, embeds] = spec.kind === 'embed' ? [[], [spec]] : [[spec], []];
  const names = new Set([...sourcesOf(spec), spec.into].map(({ container }) => container));
  const model: Model = { ...loaded.model, containers: loaded.model.containers.filter(({ name }) => names.has(name)) };
  const pipeline: Pipeline = { ...loaded.pipeline, projections, embeds };
  return { ...loaded, model, pipeline };
}

/** Of each of two documents of every source: its example, one with other values, and one with the delete mark. */
function writesOf(spec: ProjectionSpec | EmbedSpec, loaded: LoadedPipeline, seed: number): Write[] {
  const changes = new Changes(loaded, seed);
  const rounds: (readonly [string, Documents])[] = [
    ['as in the example', changes.examples()],
    ['with other values', changes.moves()],
    ['with the delete mark', changes.deletions()],
  ];
  const chosen = new Map<string, Write>();
  for (const of of sourcesOf(spec).filter((one, at, all) => all.findIndex((other) => same(one, other)) === at)) {
    const paths = keyPathsOf(loaded.model, of.container);
    const known = new Set<string>();
    for (const [what, documents] of rounds) {
      for (const doc of (documents[of.container] ?? []) as readonly Doc[]) {
        if (doc['type'] !== of.type) continue;
        const key = rowKey(doc, paths);
        if (known.size < DOCUMENTS) known.add(key);
        const name = `${of.container} ${key} ${what}`;
        // Of several versions of one kind the last one differs most.
        if (known.has(key)) chosen.set(name, { container: of.container, doc, name });
      }
    }
  }
  const distinct = new Map([...chosen.values()].map((write) => [canonical([write.container, write.doc]), write]));
  return [...distinct.values()];
}

/** A write that follows itself is left out: it is a repeated delivery. */
function* histories(writes: readonly Write[]): Generator<readonly Write[]> {
  let shorter: (readonly Write[])[] = [[]];
  for (let length = 1; length <= LONGEST; length++) {
    const longer: (readonly Write[])[] = [];
    for (const before of shorter) {
      for (const write of writes) {
        if (before.at(-1) === write) continue;
        const history = [...before, write];
        yield history;
        if (length < LONGEST) longer.push(history);
      }
    }
    shorter = longer;
  }
}

function countOf(writes: number): number {
  let [all, ofLength] = [0, writes];
  for (let length = 1; length <= LONGEST; length++, ofLength *= writes - 1) all += ofLength;
  return all;
}
