// Proves a model and its pipeline on the embedded server: it writes the document's examples, lets the pipeline derive
// from them, and runs every access pattern of the document. A pattern is proved by its meaning; the others were only run.
import { AssertionError } from 'node:assert/strict';
import { CosmosClient } from '@azure/cosmos';
import { contractRules } from '../../contract/contract-rules.ts';
import type { PipelineSource } from '../../contract/declared.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { sourceExamples } from '../../pipeline/declaration.ts';
import { ownFields, rowKey } from '../../pipeline/oracle/recompute.ts';
import type { Doc } from '../../pipeline/specs.ts';
import type { Design, PatternMapping, Meaning, Requirements } from '../../model/documents.ts';
import type { Model, SourceLine } from '../../model/model.ts';
import { checkDocuments } from '../../model/rules/index.ts';
import { planModel } from '../../procedures/apply/apply.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { Scenario } from '../scenario.ts';
import { onePartitionEach, servicesOn } from '../test-pipeline.ts';
import { askPattern, isVisible } from './ask.ts';
import { type Evaluate, Meant, evaluator, isAbout } from './meaning.ts';
import { type ProofQuestion, questionOf, proofReachOf } from './question.ts';

/** `run`: no meaning was compared with its answers. */
export type Verdict = 'proved' | 'run' | 'not run' | 'different';

export interface PatternProof {
  readonly pattern: string;
  readonly description: string;
  readonly verdict: Verdict;
  /** Why it was not run, or the first difference. */
  readonly why?: string;
  readonly container?: string;
  readonly how?: ProofQuestion['kind'];
  /** It reads documents that projections write. */
  readonly derived: boolean;
  /** The fields that were compared with its meaning. */
  readonly meant?: readonly string[];
  /** Its query sorts, and its meaning doesn't say how. */
  readonly unordered?: boolean;
  /** Why it is only run. */
  readonly unproved?: string;
  readonly runs: number;
  readonly rows: number;
  /** The most expensive run, RU, by the embedded server's charge; then the RU that the document states. */
  readonly ru: number;
  readonly statedRu?: number;
  readonly reach?: 'a key prefix' | 'all partitions';
}

export interface Proof {
  readonly pipeline: string;
  /** The source examples that were written. */
  readonly written: number;
  /** The changes that projections parked. */
  readonly parked: readonly string[];
  /** How derived documents differ from a recomputation by code that shares nothing with the projections. */
  readonly difference?: string;
  /** Errors of the contract between code and document (`model check`, group G). While there is one, nothing is proved. */
  readonly contract: readonly { readonly rule: string; readonly message: string; readonly at: SourceLine }[];
  readonly patterns: readonly PatternProof[];
  /** What the proof left out, and why. */
  readonly notes: readonly string[];
  readonly totals: Readonly<Record<Verdict, number>>;
}

export interface Files {
  readonly design: Design;
  readonly requirements: Requirements | undefined;
  /** pipeline.ts, for the rules of the contract that read its text. */
  readonly source?: PipelineSource | undefined;
}

/** A container and a type in it. */
const placeOf = (container: string, type: unknown): string => `${container}/${String(type)}`;

/**
 * `only`: ids of patterns; absent: all. Rejects with errors of the server, and of a pipeline that can't run at all.
 */
export async function prove(
  loaded: LoadedPipeline,
  { design, requirements, source }: Files,
  only?: readonly string[],
): Promise<Proof> {
  const { startEmulator } = await import('../../emulator/index.ts');
  const emulator = await startEmulator();
  const client = new CosmosClient({ ...emulator.clientOptions, consistencyLevel: 'Session' });
  try {
    const services = servicesOn(client, { endpoint: emulator.endpoint, database: 'proof' });
    const model = onePartitionEach(loaded.model);
    const { archives, publishes, ingests, effects, projections } = loaded.pipeline;
    // The proof asks containers; what leaves them is left out, so that nothing reaches another system.
    const pipeline = { ...loaded.pipeline, archives: [], publishes: [], ingests: [], effects: [] };
    const inside: LoadedPipeline = { ...loaded, model, pipeline };
    const prepare = async (): Promise<void> => {
      for (const step of await planModel(inside, services)) await step.apply();
    };
    const sinks = new Set(projections.map(({ into }) => placeOf(into.container, into.type)));
    const sources = sourceExamples({ projections }, model);
    const ground = { loaded: inside, services, prepare, lag: () => undefined, lagMs: 0 };
    const derived = await outcome(
      new Scenario(ground, Object.fromEntries(sources.map(({ container, examples }) => [container, examples]))),
    );
    const contract = checkDocuments({ design, requirements }, contractRules(loaded.pipeline, source))
      .findings.filter(({ severity }) => severity === 'error')
      .map(({ rule, message, at }) => ({ rule, message, at }));
    const { database } = services.place;
    const stored = new Map<string, readonly Doc[]>();
    for (const { name } of model.containers) {
      const documents: Doc[] = [];
      for await (const doc of fetchAll<Doc>(database.container(name), 'SELECT * FROM c', NEVER))
        if (isVisible(doc)) documents.push(ownFields(doc));
      stored.set(name, documents);
    }
    const proving: Proving = { model, sinks, stored, evaluate: await evaluator(), provable: contract.length === 0 };
    const patterns: PatternProof[] = [];
    for (const one of patternsOf(design, requirements, model, only)) {
      const meant = one.meanings.map((meaning) => new Meant(meaning, proving.evaluate, sourcesIn(meaning, proving)));
      const documents = documentsFor(one.question, proving, meant);
      patterns.push(proofOf(one, await askPattern(one.question, database, documents, meant), meant, proving));
    }
    const left = [...effects, ...publishes, ...ingests, ...archives].map(({ name }) => name);
    const count = (verdict: Verdict): number => patterns.filter((of) => of.verdict === verdict).length;
    return {
      pipeline: loaded.pipeline.name,
      written: sources.reduce((sum, { examples }) => sum + examples.length, 0),
      ...derived,
      contract,
      patterns,
      notes: [
        ...(left.length === 0 ? [] : [`not run, since it leaves the containers: ${left.join(', ')}`]),
        ...strayMeanings(design, requirements, model),
      ],
      totals: {
        proved: count('proved'),
        run: count('run'),
        'not run': count('not run'),
        different: count('different'),
      },
    };
  } finally {
    client.dispose();
    await emulator.close();
  }
}

const NEVER = new AbortController().signal;

async function outcome(scenario: Scenario): Promise<Pick<Proof, 'parked' | 'difference'>> {
  try {
    const { parked } = await scenario.run();
    return { parked: parked.map((one) => `${one.projection}: ${one.container}/${one.id}: ${one.message}`) };
  } catch (error) {
    if (error instanceof AssertionError) return { parked: [], difference: error.message };
    throw error;
  }
}

interface Proving {
  readonly model: Model;
  /** Types that projections write, with their containers. */
  readonly sinks: ReadonlySet<string>;
  /** What each container has. */
  readonly stored: ReadonlyMap<string, readonly Doc[]>;
  readonly evaluate: Evaluate;
  /** False: code and document disagree, so a meaning proves nothing. */
  readonly provable: boolean;
}

/** A meaning over what projections wrote would prove it by itself. */
const sourcesIn = ({ container }: Meaning, { stored, sinks }: Proving): readonly Doc[] =>
  (stored.get(container) ?? []).filter(({ type }) => !sinks.has(placeOf(container, type)));

/**
 * What the container has, and the examples of the document that it doesn't have: so a document that should be there is
 * asked for. Those of the type that the pattern reads come first.
 */
function documentsFor(question: ProofQuestion, { stored }: Proving, meant: readonly Meant[]): readonly Doc[] {
  if (question.kind === 'none') return [];
  const { name, partitionKey, types } = question.container;
  const present = stored.get(name) ?? [];
  const keys = new Set(present.map((doc) => rowKey(doc, partitionKey)));
  const lacking = types.flatMap(({ examples }) => examples.filter((doc) => !keys.has(rowKey(doc, partitionKey))));
  const reads = (doc: Doc): number => Number(meant.some((one) => one.reads(doc)));
  return [...present, ...lacking].toSorted((a, b) => reads(b) - reads(a));
}

interface Pattern {
  readonly pattern: string;
  readonly description: string;
  readonly row?: PatternMapping;
  readonly question: ProofQuestion;
  readonly meanings: readonly Meaning[];
}

/** Why nothing is proved, though it ran. */
function whyUnproved({ row }: Pattern, meant: readonly Meant[], { provable }: Proving): string | undefined {
  const queries = new Set(row?.queries.map(({ text }) => text)).size;
  if (meant.length === 0) return 'it has no meaning';
  if (!provable) return 'the contract has errors';
  if (queries > 1) return `its row has ${queries} queries, and only the first ran; write a row for each`;
  if (queries > 0 && row?.operations.includes('point-read'))
    return 'its row has a point read and a query, and only the query ran; write a row for each';
  const idle = meant.find(({ rows }) => rows === 0);
  return idle && `its meaning in line ${idle.meaning.at.line} has no row on these documents`;
}

function proofOf(
  of: Pattern,
  { first, why, ...took }: Awaited<ReturnType<typeof askPattern>>,
  meant: readonly Meant[],
  proving: Proving,
): PatternProof {
  const { pattern, description, row, question } = of;
  const unproved = whyUnproved(of, meant, proving);
  const ran = took.rows > 0 ? (unproved === undefined ? 'proved' : 'run') : 'not run';
  const verdict: Verdict = first !== undefined ? 'different' : ran;
  const said = first ?? (verdict === 'not run' ? (why ?? 'no example document is in its result') : undefined);
  const reach = question.kind === 'query' ? proofReachOf(question.container, question.query) : 'one partition';
  const isUnordered =
    question.kind === 'query' && question.query.order.length > 0 && !meant.some(({ ordered }) => ordered);
  const columns = [...new Set(meant.flatMap((one) => [...one.columns]))];
  return {
    pattern,
    description,
    verdict,
    ...(said !== undefined && { why: said }),
    ...(question.kind !== 'none' && { container: question.container.name, how: question.kind }),
    derived:
      question.kind !== 'none' && [...proving.sinks].some((name) => name.startsWith(`${question.container.name}/`)),
    ...(verdict === 'proved' && { meant: columns, ...(isUnordered && { unordered: true }) }),
    ...(verdict === 'run' && unproved !== undefined && { unproved }),
    ...took,
    ...(row?.ru !== undefined && { statedRu: row.ru }),
    ...(reach !== 'one partition' && { reach }),
  };
}

/** Every pattern of the mapping, and those of the requirements that no row of the mapping names. */
function patternsOf(
  design: Design,
  requirements: Requirements | undefined,
  model: Model,
  only: readonly string[] | undefined,
): Pattern[] {
  const meanings = [...design.meanings, ...(requirements?.meanings ?? [])];
  const patterns = requirements?.patterns ?? [];
  const wanted = (id: string): boolean => only === undefined || only.includes(id);
  const mapped = design.mapping.flatMap((row) =>
    row.ids.filter(wanted).map((id): Pattern => {
      const description = patterns.find((of) => of.id === id)?.description ?? row.printed;
      const question = questionOf(row, design.projections, model);
      const own = meanings.filter((meaning) => meaning.ids.includes(id) && isAbout(meaning, question));
      return { pattern: id, description, row, question, meanings: own };
    }),
  );
  const known = new Set(design.mapping.flatMap(({ ids }) => ids));
  const lacking = patterns
    .filter(({ id }) => wanted(id) && !known.has(id))
    .map(({ id, description }): Pattern => {
      const question = { kind: 'none', why: 'no row of the mapping names it' } as const;
      return { pattern: id, description, question, meanings: [] };
    });
  return [...mapped, ...lacking];
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
