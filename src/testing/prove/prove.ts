// Proves a model and its pipeline on the embedded server: after each stage it runs every access pattern of the document
// on the documents that projections made and on those recomputed from the sources.
import { randomUUID } from 'node:crypto';
import { CosmosClient } from '@azure/cosmos';
import { contractRules } from '../../contract/contract-rules.ts';
import type { PipelineSource } from '../../contract/declared.ts';
import type { Design, Requirements } from '../../model/documents.ts';
import type { Model, Place } from '../../model/model.ts';
import { checkDocuments } from '../../model/rules/index.ts';
import { planModel } from '../../operations/model/apply.ts';
import type { Screen } from '../../operations/screen.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { onePartitionEach, servicesOn } from '../test-pipeline.ts';
import { type PatternProof, type Verdict, patternsOf } from './asking.ts';
import { Changes } from './changes.ts';
import { type ExampleProof, proveExamples } from './examples.ts';
import { type HistoriesProof, proveHistories } from './histories.ts';
import type { KillScore } from '../mutants/kill.ts';
import { limitsOf } from './limits.ts';
import { evaluator } from './meaning.ts';
import { derivedTypes, refName } from './oracle.ts';
import { Proving, type StageProof } from './proving.ts';

export interface Proof {
  readonly pipeline: string;
  readonly seed: number;
  readonly stages: readonly StageProof[];
  readonly examples: ExampleProof;
  /** Errors of the contract between code and document (`model check`, group G). While there is one, nothing is proved. */
  readonly contract: readonly { readonly rule: string; readonly message: string; readonly at: Place }[];
  readonly patterns: readonly PatternProof[];
  /** Of each projection and embed, if histories were asked for. */
  readonly histories?: readonly HistoriesProof[];
  /** Of the user's files, if it was asked for. */
  readonly mutants?: KillScore;
  /** What the proof left out, and why. */
  readonly notes: readonly string[];
  readonly totals: Readonly<Record<Verdict, number>>;
}

export interface ProveOptions {
  readonly seed: number;
  /** Ids of patterns; absent: all. */
  readonly only?: readonly string[] | undefined;
  /** How many seconds all short histories of each projection may take together; absent: none run. */
  readonly histories?: number | undefined;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'progress'>;
}

export interface Files {
  readonly design: Design;
  readonly requirements: Requirements | undefined;
  /** pipeline.ts. Without its text, only the meanings say which values documents are made beside. */
  readonly source?: PipelineSource | undefined;
}

const LAG_MS = 10;
const EVERYTHING = { redeliver: true, reorder: true, crash: true, stale: true };

/** Rejects with errors of the server, and of a pipeline that can't run at all. */
export async function prove(
  loaded: LoadedPipeline,
  { design, requirements, source }: Files,
  { seed, only, histories, signal, screen }: ProveOptions,
): Promise<Proof> {
  const { startEmulator } = await import('../../emulator/index.ts');
  await using emulator = await closing(startEmulator({ seed }));
  const client = new CosmosClient({ ...emulator.server.clientOptions, consistencyLevel: 'Session' });
  const { endpoint } = emulator.server;
  const services = servicesOn(client, { endpoint, database: 'proof' });
  const { archives } = loaded.pipeline;
  // Images need the feed of all versions and deletes, which deliveries don't read.
  const publishes = loaded.pipeline.publishes.filter(({ images }) => !images);
  // Effects are left out, so that nothing reaches another system. Events and archives have stages of their own.
  const own = { archives: [], publishes: [], ingests: [], effects: [] };
  const model = onePartitionEach(loaded.model);
  const inside: LoadedPipeline = { ...loaded, model, pipeline: { ...loaded.pipeline, ...own } };
  const prepare = (of: Services) => async (): Promise<void> => {
    for (const step of await planModel(inside, of)) await step.apply();
  };
  const lag = (on: boolean): void => emulator.server.faults(on ? { replicaLagMs: LAG_MS / 2 } : {});
  const ground = { loaded: inside, services, prepare: prepare(services), lag, lagMs: LAG_MS };
  const changes = new Changes(inside, seed);
  const cold = archives.map(({ from }) => from);
  const asking = patternsOf(design, requirements, model, derivedTypes(inside.pipeline), only);
  const proving = new Proving(ground, asking, await evaluator(), async (name) => {
    const scratch = servicesOn(client, { endpoint, database: name });
    await prepare(scratch)();
    return scratch.place.database;
  });
  // An embed changes what comes back from an archive, so no document gets the date that sends it there.
  const dates = archives
    .filter(({ from }) => loaded.pipeline.embeds.some(({ into }) => refName(into) === refName(from)))
    .map(({ dateField }) => dateField);
  const limits = limitsOf({ design, requirements }, source?.text);
  const stages: readonly (readonly [name: string, run: () => Promise<void>])[] = [
    ['examples', () => proving.deliver('examples', changes.examples())],
    ['update', () => proving.deliver('update', changes.updates(1))],
    ['key change', () => proving.deliver('key change', changes.moves())],
    ['delete mark', () => proving.deliver('delete mark', changes.deletions())],
    ['redelivery', () => proving.deliver('redelivery', changes.updates(2), { redeliver: true, crash: true, seed })],
    ['reordering', () => proving.deliver('reordering', changes.updates(3), { ...EVERYTHING, seed })],
    ['writes', () => proving.write('writes', changes)],
    ['near values', () => proving.deliver('near values', changes.beside(limits, dates))],
    ...(publishes.length === 0
      ? []
      : ([['publish', () => proving.publish('publish', publishes, changes.updates(5), seed)]] as const)),
    ...(cold.length === 0
      ? []
      : ([
          ['archive', () => proving.archive('archive', archives)],
          ['cold update', () => proving.deliverToCold('cold update', changes.updates(4, cold))],
          ['restore', () => proving.restore('restore')],
        ] as const)),
  ];
  let examples: ExampleProof = { compared: 0, different: [] };
  for (const [at, [name, run]] of stages.entries()) {
    signal.throwIfAborted();
    screen.progress(`stage ${name}`, at, stages.length);
    await run();
    if (at === 0) examples = proveExamples(design, inside, await proving.stored());
  }
  const short =
    histories === undefined
      ? undefined
      : await proveHistories({
          loaded: inside,
          seed,
          seconds: histories,
          signal,
          ground: async (of) => {
            const scratch = servicesOn(client, { endpoint, database: `history-${randomUUID()}` });
            const apply = async (): Promise<void> => {
              for (const step of await planModel(of, scratch)) await step.apply();
            };
            await apply();
            return {
              ground: { loaded: of, services: scratch, prepare: apply, lag, lagMs: 0 },
              remove: () => scratch.place.database.delete(),
            };
          },
          progress: (what, done, all) => screen.progress(what, done, all),
        });
  client.dispose();
  const notes = [...proving.notes];
  const names = (of: readonly { readonly name: string }[]): string => of.map(({ name }) => name).join(', ');
  const { effects, ingests } = loaded.pipeline;
  const images = loaded.pipeline.publishes.filter((spec) => !publishes.includes(spec));
  if (effects.length > 0) notes.push(`not run, since it calls another system: ${names(effects)}`);
  if (images.length > 0) notes.push(`not run, since it needs all versions and deletes: ${names(images)}`);
  if (ingests.length > 0) notes.push(`not run, since the document shows no events: ${names(ingests)}`);
  const feeding = inside.pipeline.projections.filter(
    ({ kind, into }) =>
      kind === 'aggregate' && inside.pipeline.projections.some(({ from }) => refName(from) === refName(into)),
  );
  if (feeding.length > 0)
    notes.push(
      `a group without rows is read as zeros for 30 days, since other projections derive from it: ${names(feeding)}`,
    );
  if (changes.unmarked.length > 0)
    notes.push(`not deleted, since no example shows the delete mark: ${changes.unmarked.join(', ')}`);
  if (proving.proofs.every(({ moved }) => moved === 0)) notes.push('no change moved a row to another key of its sink');
  notes.push(...strayMeanings(design, requirements, model));
  const contract = checkDocuments({ design, requirements }, contractRules(loaded.pipeline, source))
    .findings.filter(({ severity }) => severity === 'error')
    .map(({ rule, message, at }) => ({ rule, message, at }));
  const patterns = asking.map((one) => one.proof(contract.length === 0));
  const count = (verdict: Verdict): number => patterns.filter((of) => of.verdict === verdict).length;
  return {
    pipeline: loaded.pipeline.name,
    seed,
    stages: proving.proofs,
    examples,
    contract,
    patterns,
    ...(short && { histories: short }),
    notes,
    totals: { proved: count('proved'), run: count('run'), 'not run': count('not run'), different: count('different') },
  };
}

/** Meanings that are compared with nothing. */
const strayMeanings = (design: Design, requirements: Requirements | undefined, { containers }: Model): string[] =>
  [...design.meanings, ...(requirements?.meanings ?? [])].flatMap(({ ids, container, at }) => [
    ...(containers.some(({ name }) => name === container)
      ? []
      : [`the meaning in line ${at.line} of ${at.file} is over ${container}, which the model does not have`]),
    ...ids
      .filter((id) => !design.mapping.some((row) => row.ids.includes(id)))
      .map(
        (id) => `the meaning in line ${at.line} of ${at.file} is of pattern ${id}, which no row of the mapping names`,
      ),
  ]);

async function closing<T extends { close(): Promise<void> }>(starting: Promise<T>) {
  const server = await starting;
  return { server, [Symbol.asyncDispose]: () => server.close() };
}
