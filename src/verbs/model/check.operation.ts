import { z } from 'zod';
import { flag, optional } from '../flags.ts';
import { textsOf } from '../../model/documents.ts';
import type { SourceLine } from '../../model/model.ts';
import { type Report, checkDocuments } from '../../model/rules/index.ts';
import type { RuleFinding, Severity } from '../../model/rules/rule.ts';
import { writeText } from '../write-text.ts';
import type { Context, Plan } from '../../procedures/context.ts';
import { defineOperation } from '../operation.ts';
import { diffOf, fixedFiles } from './fix.ts';
import { aboutOf } from './about.ts';
import { type Checked, type ShownFinding, checkText, counts } from './check-text.ts';
import { accountText, compareAccount } from './drift.ts';
import { explained, explainedText } from './explained.ts';
import { designOfCode, graphOf } from './graph.ts';
import { type ReadPair, everyRule, readPair, shortPath } from './pair.ts';
import { pipelineDirectory } from './model-flags.ts';

const WEIGHT: Readonly<Record<Severity, number>> = { information: 0, warning: 1, error: 2 };

export const modelCheck = defineOperation({
  name: 'model check',
  summary: 'Check the two modelling documents, and the pipeline against them, with every rule',
  examples: [
    'millrace model check',
    'millrace model check --explain B11',
    'millrace model check --env production --sample 500',
    'millrace model check --fail-on error',
    'millrace model check --fix --dry-run',
  ],
  effect: 'reads',
  argument: 'directory',
  input: z.object({
    directory: pipelineDirectory,
    failOn: z.enum(['error', 'warning']).default('warning').describe('lowest severity for which the exit code is 1'),
    unchecked: flag('list also the rules that were asked for something and couldn’t read it, and what they lack'),
    fix: flag(
      'correct what has one correction: index paths that the service refuses, the floor of an autoscale range, the section "Change Feed Projections" from the pipeline',
    ),
    explain: optional('check nothing; show what a rule such as B11 asks for, why, and its source'),
    sample: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(100)
      .describe('with --env, which compares with the account: newest documents to read of each container and type'),
  }),
  plan: async ({ directory, fix, explain }, { workspace }): Promise<Plan> => {
    if (explain !== undefined) return { steps: [], ru: 0 };
    const { pair, report } = await checkedPair(workspace, directory);
    const files = fix ? await fixedFiles(pair, report) : [];
    const short = (file: string): string => shortPath(workspace.directory, file);
    return { steps: files.flatMap(({ changes }) => diffOf(changes, short)), ru: 0 };
  },
  run: async ({ directory, failOn, unchecked, fix, explain, sample }, context) => {
    if (explain !== undefined) return explained(explain, everyRule());
    const { workspace } = context;
    let { pair, report } = await checkedPair(workspace, directory);
    const files = fix ? await fixedFiles(pair, report) : [];
    for (const { file, text } of files) await writeText(file, text);
    if (files.length > 0) ({ pair, report } = await checkedPair(workspace, directory));
    const fixed = files.flatMap(({ changes }) =>
      changes.map((change) => ({
        ...change,
        at: { ...change.at, file: shortPath(workspace.directory, change.at.file) },
      })),
    );
    const checked = { ...shown(report, pair, workspace.directory), unchecked, fixed };
    // A host with `--env` has a page of the model, and its pages must not read the account for it.
    const compares = workspace.opened?.env !== undefined && context.output !== undefined;
    const account = compares ? await compareAccount(pair, sample, context) : undefined;
    const ok = passes(report, failOn) && !account?.drifts.length;
    return { ...checked, ...(account && { account }), ok };
  },
  format: (result) => {
    if ('why' in result) return explainedText(result);
    const { account, ...checked } = result;
    return [checkText(checked), ...(account ? ['', accountText(account)] : [])].join('\n');
  },
  ok: (result) => 'why' in result || result.ok,
});

async function checkedPair(
  workspace: Context['workspace'],
  directory: string | undefined,
): Promise<{ pair: ReadPair; report: Report }> {
  const pair = await readPair(workspace, directory, { optional: true });
  return { pair, report: checkDocuments(pair.documents, pair.rules) };
}

const passes = ({ findings, reading }: Report, failOn: 'error' | 'warning'): boolean =>
  [...findings, ...reading].every(({ severity }) => WEIGHT[severity] < WEIGHT[failOn]);

/** The report with paths relative to the working directory, and with the documents' lines. */
function shown(
  report: Report,
  { documents, folder, pipeline, rules, source: declared }: ReadPair,
  directory: string,
): Omit<Checked, 'fixed' | 'unchecked'> {
  const design = documents.design ?? (pipeline && declared?.code && designOfCode(declared.code, pipeline));
  const documented = documents.design ?? documents.requirements ?? documents.review;
  const lines = textsOf(documents);
  const lineOf = ({ file, line }: SourceLine): string | undefined => lines.get(file)?.[line - 1];
  const short = ({ file, line }: SourceLine): SourceLine => ({ file: shortPath(directory, file), line });
  const about = aboutOf(documents.design);
  const finding = (of: RuleFinding): ShownFinding => {
    const source = lineOf(of.at);
    return {
      ...of,
      ...about(of),
      at: short(of.at),
      ...(of.related && { related: of.related.map(short) }),
      ...(source !== undefined && { source }),
    };
  };
  return {
    folder: shortPath(directory, folder) || '.',
    rules: rules.length,
    counts: counts(report),
    ...(design && { graph: graphOf(design) }),
    findings: report.findings.map(finding),
    // A model.ts needs no document, so nothing of one is missing.
    ...(documented ? { notChecked: report.notChecked } : { notChecked: [], undocumented: true }),
    waived: report.waived.map(({ finding: of, waiver: { until = 0, reason, at } }) => ({
      finding: finding(of),
      until: new Date(until - 1).toISOString().slice(0, 10),
      reason,
      at: short(at),
    })),
    ...(documents.review && { concerns: documents.review.concerns.length }),
    reading: report.reading.map((of) => ({ ...of, at: short(of.at) })),
  };
}
