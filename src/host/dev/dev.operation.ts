import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { flag, optional } from '../../verbs/flags.ts';
import type { SourceRef } from '../../pipeline/specs.ts';
import { formatSweep } from '../../procedures/archive/sweep.ts';
import { defineOperation } from '../../verbs/operation.ts';
import { formatVerification, isVerified } from '../../procedures/verify/verify.ts';
import { suggestion } from '../../base/near.ts';
import { plural } from '../../procedures/table.ts';
import type { LoadedPipeline, Workspace } from '../../runtime/workspace.ts';
import { loadPipeline } from '../../runtime/pipeline/load-pipeline.ts';
import { sayParked } from '../run/letters-now.ts';
import { progressTable } from '../run/progress.ts';
import { openDashboard } from '../run/dashboard.ts';
import { embeddedInput } from './embedded.ts';
import { type Input, examplesInput, fileInputs, workloadInput } from './input.ts';
import { modelLines } from './model-lines.ts';
import { type DevSummary, play } from './play.ts';
import { formatPublished, isRight } from './published.ts';
import type { Registry } from '../../verbs/registry.ts';
import { assertShards } from './shards.ts';
import { openStage } from './stage.ts';
import { WatchedPipeline } from './watched-pipeline.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { operationsError } from '../../procedures/errors.ts';

/** The embedded server costs nothing: the dashboard looks, and the host reports itself, this often. */
const DASHBOARD_MS = 1_000;
const ACCOUNT_MS = 5_000;

const input = z.object({
  example: optional('run this example instead of your pipeline'),
  input: z
    .array(z.string())
    .optional()
    .describe(
      'load this file, or the files of this folder, instead of the pipeline’s own workload; may be repeated. A file has one JSON document a line, or one JSON array, and may be packed by gzip',
    ),
  into: z
    .array(z.string())
    .optional()
    .describe(
      'container and type of the documents of --input, as Container/type: one for all, or one for each --input in their order',
    ),
  rate: z.number().positive().optional().describe('load at most this many documents a second (default: no limit)'),
  once: flag(
    'load and derive everything, then recompute it, compare and end; exit code 1 on a difference, a parked change or a rejected line',
  ),
  port: z.int().min(0).max(65_535).default(0).describe('port of the embedded server on 127.0.0.1; 0: any free port'),
  shards: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('spread the tenants over so many embedded databases, by a shard map; for a pipeline over shards'),
  unverified: flag(
    'don’t compare with a recomputation when everything is loaded (above 100,000 documents, none is made)',
  ),
  dashboard: z.int().min(0).max(65_535).default(0).describe('port of the dashboard on 127.0.0.1; 0: any free port'),
  account: flag('use the account of the settings instead of the embedded server'),
  ...embeddedInput,
});
type DevInput = z.output<typeof input>;

/** `registry`: the operations that a run's background jobs may run. */
export const dev = (registry: () => Registry) =>
  defineOperation({
    name: 'dev',
    summary: 'Run a pipeline on this machine: database, data and projections, with nothing to install',
    examples: [
      'millrace dev',
      'millrace dev --once --json',
      'millrace dev --example storefront --shards 3 --once',
      'millrace dev --example storefront --rate 200 --data .millrace/storefront',
      'millrace dev --input orders-1.jsonl --input orders-2.jsonl --into Orders/order',
      'millrace dev --input a.jsonl --into Orders/order --input b.jsonl --into Customers/customer',
    ],
    shards: 'itself',
    effect: 'changes',
    lasting: true,
    input,
    run: async (options, context) => {
      const started = performance.now();
      const { example, shards, once, account } = options;
      const folder = example === undefined ? context.workspace.folder : exampleFolder(example, shards);
      // A run that ends by itself has no one who edits; an account has data that isn't the developer's alone.
      using watched = once || account ? undefined : new WatchedPipeline(folder);
      const revision = await watched?.load();
      const loaded = revision?.loaded ?? (await loadPipeline(folder));
      for (const line of await modelLines(context.workspace.at(folder), loaded.pipeline)) context.screen.line(line);
      assertShards(loaded, shards, account);
      const inputs = await inputsOf(options, loaded);
      const opening = Promise.withResolvers<Workspace>();
      // The dashboard shows why the stage can't be opened, but the error is reported by this run.
      opening.promise.catch(() => undefined);
      await using dashboard = once
        ? undefined
        : await openDashboard({
            context,
            registry: registry(),
            workspace: opening.promise,
            port: options.dashboard,
            everyMs: account ? ACCOUNT_MS : DASHBOARD_MS,
          });
      await using stage = await openStage(options, context, loaded, registry).catch((error: unknown) => {
        opening.reject(error);
        throw error;
      });
      opening.resolve(stage.workspace);
      // It ends before the servers that it looks at.
      await using _before = dashboard;
      const watching = watched && revision && { watched, importer: revision.importer };
      const by = { ...options, statusMs: once || account ? undefined : DASHBOARD_MS };
      return {
        // If the server has ended, its end is the error to report, not the failures that followed from it.
        ...(await play(by, context, inputs, stage, watching).finally(() => stage.ended?.throwIfAborted())),
        seconds: Math.round((performance.now() - started) / 100) / 10,
      };
    },
    format: formatSummary,
    ok: ({ loaded, archive, verification, places = [], published, parked }) =>
      !loaded?.rejected &&
      !parked &&
      [verification, ...places.map((of) => of.verification)].every((of) => !of || isVerified(of)) &&
      (archive ?? []).every(({ faults }) => faults.length === 0) &&
      (published ?? []).every(isRight),
  });

async function inputsOf(
  { input: paths, into, seed, account }: DevInput,
  loaded: LoadedPipeline,
): Promise<readonly Input[]> {
  if (paths === undefined) {
    if (into !== undefined)
      throw operationsError('input-invalid', '--into is given without --input', {
        hint: 'Give `--input` the path of a file with one JSON document a line, or one JSON array.',
      });
    // Examples say what documents look like, and are nothing to write into an account.
    const own = (await workloadInput(loaded.folder, seed)) ?? (account ? undefined : examplesInput(loaded));
    return own ? [own] : [];
  }
  const hint = 'Say which container and type the documents have, for example --into Orders/order.';
  if (into === undefined) throw operationsError('input-invalid', '--input needs --into', { hint });
  if (into.length > 1 && into.length !== paths.length)
    throw operationsError(
      'input-invalid',
      `--input is given ${plural(paths.length, 'time')}, and --into ${plural(into.length, 'time')}`,
      { hint: 'Give one --into for all, or one for each --input in their order.' },
    );
  const targets = into.map((text) => {
    const [container = '', type = '', ...rest] = text.split('/');
    if (container === '' || type === '' || rest.length > 0)
      throw operationsError('input-invalid', `--into ${text} is not of the form Container/type`, { hint });
    checkTarget({ container, type }, loaded.model);
    return { container, type };
  });
  return fileInputs(paths, targets);
}

function checkTarget({ container, type }: SourceRef, model: LoadedPipeline['model']): void {
  const found = model.containers.find(({ name }) => name === container);
  if (!found) {
    const known = model.containers.map(({ name }) => name);
    throw sharedError(
      'not-found',
      `There is no container ${container} in ${model.file}${suggestion(container, known)}`,
      { hint: `Name one of its containers: ${known.join(', ')}.` },
    );
  }
  const types = found.types.map(({ name }) => name);
  if (types.includes(type)) return;
  throw sharedError('not-found', `Container ${container} has no type ${type}${suggestion(type, types)}`, {
    hint: `Name one of its types: ${types.join(', ')}.`,
  });
}

/** The folder of examples: beside `src` in a checkout, beside the built files in an installed package. */
const EXAMPLES = fileURLToPath(new URL('../../../examples/', import.meta.url));

/** An example over shards is a folder of its own: `storefront-shards`. */
function exampleFolder(example: string, shards: number | undefined): string {
  const name = shards === undefined || example.endsWith('-shards') ? example : `${example}-shards`;
  const known = existsSync(EXAMPLES)
    ? readdirSync(EXAMPLES, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map((entry) => entry.name)
    : [];
  if (known.includes(name)) return `${EXAMPLES}${name}`;
  throw sharedError('not-found', `There is no example ${name}${suggestion(name, known)}`, {
    hint: `Name one of: ${known.join(', ')}.`,
  });
}

function formatSummary({
  loaded,
  projections,
  archive,
  verification,
  places = [],
  published,
  parked,
  seconds,
}: DevSummary): string {
  const lines: string[] = [];
  if (loaded) {
    const before = loaded.skipped > 0 ? `, ${loaded.skipped.toLocaleString('en-US')} of them by an earlier run` : '';
    lines.push(`Loaded ${plural(loaded.loaded, 'document')}${before}.`);
    if (loaded.rejectsFile !== undefined)
      lines.push(`Rejected ${plural(loaded.rejected, 'line')}; they are in ${loaded.rejectsFile}.`);
  }
  lines.push(...progressTable(projections));
  if (archive) lines.push('', formatSweep(archive));
  if (verification) lines.push('', formatVerification(verification));
  for (const { place, verification: of } of places) lines.push('', `── ${place}`, formatVerification(of));
  if (published) lines.push('', formatPublished(published));
  return [...lines, ...sayParked(parked ?? 0), `Ended after ${seconds} s.`].join('\n');
}
