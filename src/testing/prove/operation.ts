// `millrace model prove`. It is beside the test kit that it uses, above the other operations. Only the command line
// registers it: a deployment doesn't need it.
import { z } from 'zod';
import { defineOperation } from '../../operations/operation.ts';
import { readPair, shortPath } from '../../operations/model/pair.ts';
import { ruleFlags } from '../../operations/model/settings.ts';
import { inOnePlace } from '../../definition/places.ts';
import { suggestion } from '../../base/near.ts';
import type { PatternProof } from './asking.ts';
import type { HistoriesProof } from './histories.ts';
import type { KillScore } from '../mutants/kill.ts';
import { type Proof, prove } from './prove.ts';
import { operationsError } from '../../operations/errors.ts';
import { withoutTypes } from './without-types.ts';
import { testingError } from '../errors.ts';

export const modelProve = defineOperation({
  shards: 'itself',
  noun: 'model',
  verb: 'prove',
  summary: 'Run the pipeline and every access pattern on the examples, and compare with a recomputation',
  examples: [
    'millrace model prove',
    'millrace model prove examples/flights --seed 7',
    'millrace model prove --only 3 --json',
    'millrace model prove --mutants 120',
  ],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: ruleFlags.directory,
    seed: z
      .number()
      .int()
      .nonnegative()
      .default(1)
      .describe('seed of the random changes and failures; the same seed repeats them'),
    histories: z
      .number()
      .int()
      .positive()
      .optional()
      .describe('also run every history of up to 4 writes of each projection, for this many seconds'),
    mutants: z
      .number()
      .int()
      .positive()
      .optional()
      .describe('also change each literal of document and code, for this many seconds, and print what nothing notices'),
    only: z.string().optional().describe('numbers of the patterns, separated by commas: 3 or 3,5 (default: all)'),
  }),
  run: async ({ directory, seed, only, histories, mutants }, context): Promise<Proof> => {
    const { workspace, screen } = context;
    const declared = await workspace.at(directory).pipeline();
    // What follows from documents doesn't depend on the shard that has them.
    const loaded = { ...declared, pipeline: inOnePlace(declared.pipeline) };
    const { documents, source } = await readPair(workspace, directory);
    const { design, requirements } = documents;
    if (!design)
      throw operationsError('model-missing', 'There is no data-model document to prove', {
        hint: 'Write cosmosdb_data_model.md, or draft it with `millrace model import`.',
      });
    const known = [
      ...new Set([...design.mapping.flatMap(({ ids }) => ids), ...(requirements?.patterns ?? []).map(({ id }) => id)]),
    ];
    const proved = await prove(
      loaded,
      { design, requirements, source },
      { seed, histories, only: chosen(only, known), signal: context.signal, screen },
    );
    const short = (file: string): string => shortPath(workspace.directory, file);
    const contract = proved.contract.map((one) => ({ ...one, at: { ...one.at, file: short(one.at.file) } }));
    const proof = { ...proved, contract };
    if (mutants === undefined || !source) return proof;
    const { killScore } = await import('../mutants/kill.ts');
    const { loadText } = await import('../mutants/load.ts');
    const read = { design, requirements };
    const subject = {
      documents: read,
      parser: undefined,
      pipeline: loaded.pipeline,
      source: { file: source.file, text: withoutTypes(source.text) },
    };
    const score = await killScore(subject, {
      seed,
      seconds: mutants,
      signal: context.signal,
      load: (text) => loadText(source.file, text),
      progress: (what, done, of) => screen.progress(what, done, of),
    });
    const survivors = score.survivors.map((one) => ({ ...one, file: short(one.file) }));
    return { ...proof, mutants: { ...score, survivors } };
  },
  format: formatProof,
  ok: ({ totals, stages, examples, contract, patterns, histories = [] }) =>
    totals.different === 0 &&
    histories.every(({ failed }) => failed === undefined) &&
    examples.different.length === 0 &&
    contract.length === 0 &&
    patterns.every(({ derived, verdict }) => !derived || verdict !== 'run') &&
    stages.every(
      ({ difference, stage, parked }) => difference === undefined && (stage !== 'examples' || parked.length === 0),
    ),
});

function chosen(only: string | undefined, known: readonly string[]): string[] | undefined {
  if (only === undefined) return undefined;
  return only.split(',').map((text) => {
    const id = text
      .trim()
      .replace(/^\D+/, '')
      .replace(/^0+(?=\d)/, '');
    if (known.includes(id)) return id;
    throw testingError('pattern-unknown', `There is no pattern ${text.trim()}${suggestion(id, known)}`, {
      hint: known.length === 0 ? 'Add a table of access patterns to the data model.' : `Use ${known.join(', ')}.`,
    });
  });
}

export function formatProof({
  stages,
  examples,
  contract,
  patterns,
  histories = [],
  mutants,
  notes,
  totals,
  seed,
}: Proof): string {
  const lines = patterns.map(sayPattern);
  lines.push('');
  for (const { stage, changes, moved, parked, difference } of stages) {
    const what = stage === 'archive' ? 'documents archived' : stage === 'restore' ? 'documents restored' : 'changes';
    const said = [`${changes} ${what}`];
    if (moved > 0) said.push(`${moved} rows moved to another key`);
    said.push(difference === undefined ? 'derived documents are right' : `different: ${difference}`);
    if (parked.length > 0) said.push(`${parked.length} parked, the first: ${parked[0]}`);
    lines.push(`${stage.padEnd(12)} ${said.join('; ')}`);
  }
  lines.push(...histories.map(sayHistories));
  for (const { example, line, what } of examples.different) lines.push(`example, line ${line}: ${example}: ${what}`);
  for (const { rule, message, at } of contract) lines.push(`error ${rule}, ${at.file}:${at.line}: ${message}`);
  if (contract.length > 0) lines.push('Nothing is proved while the contract has errors (`millrace model check`).');
  lines.push(...notes.map((note) => `note: ${note}`), '');
  if (mutants) lines.push(...sayMutants(mutants), '');
  const right = examples.compared - examples.different.length;
  lines.push(
    `${totals.proved} proved, ${totals.run} run, ${totals['not run']} not run, ${totals.different} different; ${right} of ${examples.compared} derived examples agree with the source examples (seed ${seed}).`,
  );
  return lines.join('\n');
}

function sayHistories({ projection, ran, all, failed }: HistoriesProof): string {
  const head = `histories    ${projection}: ${ran.toLocaleString('en-US')} of ${all.toLocaleString('en-US')}`;
  if (!failed) return `${head}; derived documents are right`;
  return `${head}; different after these writes:\n  ${failed.writes.join('\n  ')}\n  ${failed.difference}`;
}

function sayMutants({ mutants, tried, noticed, survivors }: KillScore): string[] {
  const score = tried === 0 ? 0 : (100 * noticed) / tried;
  const some = tried < mutants ? ` of ${mutants}; give more seconds for the others` : '';
  const lines = Map.groupBy(survivors, ({ file, line }) => `${file}:${line}`);
  return [
    ...[...lines].map(
      ([at, all]) =>
        `unnoticed    ${at}: ${all.map(({ was, is }) => `${was.trim()} → ${is || '(nothing)'}`).join('; ')}`,
    ),
    `mutants      ${noticed} of ${tried} are noticed, ${score.toFixed(1)} % (tried ${tried}${some})`,
  ];
}

const ru = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 });

function sayPattern(of: PatternProof): string {
  const head = `${of.pattern.padStart(3)}  `;
  if (of.verdict === 'not run') return `${head}not run: ${of.why}`;
  if (of.verdict === 'different') return `${head}different: ${of.why}`;
  const parts = [`${of.how} of ${of.container}`, `${of.runs} runs`, `${of.rows} rows`];
  parts.push(`${ru(of.ru)} RU at most${of.statedRu === undefined ? '' : ` (${ru(of.statedRu)} stated)`}`);
  if (of.reach === 'all partitions') parts.push('CROSSES PARTITIONS');
  if (of.reach === 'a key prefix') parts.push('every partition of one key prefix');
  if (of.scan) parts.push(`SCANS for ${of.scan.fields.join(', ')}: ${of.scan.loaded} documents loaded at most`);
  if (of.meant) parts.push(`by its meaning: ${of.meant.join(', ')}`);
  if (of.unordered) parts.push('without its order, which the meaning does not say');
  else if (of.unproved !== undefined && of.derived) parts.push(`NOT PROVED: ${of.unproved}`);
  return `${head}${of.verdict}: ${parts.join(', ')}`;
}
