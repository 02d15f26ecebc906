// `millrace model prove`. It is beside the test kit that it uses, above the other operations. Only the command line
// registers it: a deployment doesn't need it.
import { z } from 'zod';
import { optional } from '../../verbs/flags.ts';
import { defineOperation } from '../../verbs/operation.ts';
import { readPair, shortPath } from '../../verbs/model/pair.ts';
import { pipelineDirectory } from '../../verbs/model/model-flags.ts';
import { inOnePlace } from '../../pipeline/places.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../../procedures/table.ts';
import { type PatternProof, type Proof, prove } from './prove.ts';
import { sharedError } from '../../base/shared-errors.ts';

export const modelProve = defineOperation({
  shards: 'itself',
  name: 'model prove',
  summary: 'Run every access pattern on what the pipeline derives from the examples, and compare with its meaning',
  examples: ['millrace model prove', 'millrace model prove examples/flights --only 3 --json'],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    only: optional('numbers of the patterns, separated by commas: 3 or 3,5 (default: all)'),
  }),
  run: async ({ directory, only }, { workspace }): Promise<Proof> => {
    const declared = await workspace.at(directory).pipeline();
    // What follows from documents doesn't depend on the shard that has them.
    const loaded = { ...declared, pipeline: inOnePlace(declared.pipeline) };
    const { documents, source } = await readPair(workspace, directory);
    const { design, requirements } = documents;
    if (!design)
      throw sharedError('missing', 'There is no data-model document to prove', {
        hint: 'Write cosmosdb_data_model.md; its access patterns are what is proved.',
      });
    const known = [
      ...new Set([...design.mapping.flatMap(({ ids }) => ids), ...(requirements?.patterns ?? []).map(({ id }) => id)]),
    ];
    const proved = await prove(loaded, { design, requirements, source }, chosen(only, known));
    const short = (file: string): string => shortPath(workspace.directory, file);
    const contract = proved.contract.map((one) => ({ ...one, at: { ...one.at, file: short(one.at.file) } }));
    return { ...proved, contract };
  },
  format: formatProof,
  ok: ({ totals, difference, parked, contract, patterns }) =>
    totals.different === 0 &&
    difference === undefined &&
    parked.length === 0 &&
    contract.length === 0 &&
    patterns.every(({ derived, verdict }) => !derived || verdict !== 'run'),
});

function chosen(only: string | undefined, known: readonly string[]): string[] | undefined {
  if (only === undefined) return undefined;
  return only.split(',').map((text) => {
    const id = text
      .trim()
      .replace(/^\D+/, '')
      .replace(/^0+(?=\d)/, '');
    if (known.includes(id)) return id;
    throw sharedError('not-found', `There is no pattern ${text.trim()}${suggestion(id, known)}`, {
      hint: known.length === 0 ? 'Add a table of access patterns to the data model.' : `Use ${known.join(', ')}.`,
    });
  });
}

function formatProof({ written, parked, difference, contract, patterns, notes, totals }: Proof): string {
  const lines = [...patterns.map(sayPattern), ''];
  const found = [
    difference === undefined ? 'derived documents are right' : `different: ${difference}`,
    ...(parked.length > 0 ? [`${parked.length} parked, the first: ${parked[0]}`] : []),
  ];
  lines.push(`${plural(written, 'example')} written; ${found.join('; ')}`);
  for (const { rule, message, at } of contract) lines.push(`error ${rule}, ${at.file}:${at.line}: ${message}`);
  if (contract.length > 0) lines.push('Nothing is proved while the contract has errors (`millrace model check`).');
  lines.push(...notes.map((note) => `note: ${note}`), '');
  const { proved, run, 'not run': not, different } = totals;
  lines.push(`${proved} proved, ${run} run, ${not} not run, ${different} different.`);
  return lines.join('\n');
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
  if (of.meant) parts.push(`by its meaning: ${of.meant.join(', ')}`);
  if (of.unordered) parts.push('without its order, which the meaning does not say');
  else if (of.unproved !== undefined && of.derived) parts.push(`NOT PROVED: ${of.unproved}`);
  return `${head}${of.verdict}: ${parts.join(', ')}`;
}
