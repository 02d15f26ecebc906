// Asks a service about the numbered assumptions of docs/assumptions.md, and prints a verdict for each number.
// How: --help.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/base/errors.ts';
import type { Probe } from './probe.ts';
import { PROBES } from './probes/index.ts';
import { lineOf, markdownOf, recorded, reportOf } from './report.ts';
import { runProbes } from './run-probes.ts';
import { type Target, commandsOf, openAzure, openEmbedded, openEndpoint } from './targets.ts';

const PAGE = join(import.meta.dirname, '../../docs/azure-run.md');
const say = (line: string): void => console.log(line);
const stopped = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    if (!stopped.signal.aborted) say('Stopping; what was made is deleted first.');
    stopped.abort(new Error('It was stopped.'));
  });
}

const text = { type: 'string' } as const;
const options = {
  endpoint: text,
  key: text,
  location: { ...text, default: 'westeurope' },
  create: { type: 'boolean', default: false },
  dry: { type: 'boolean', default: false },
  record: text,
  only: text,
  json: text,
  markdown: text,
  help: { type: 'boolean', default: false },
} as const;

const HELP = `npm run test:azure -- [options]

Asks a service about the numbered assumptions of docs/assumptions.md, and prints a verdict for each number.

  --create           makes a resource group with a serverless account in your subscription (az login), and deletes it
  --location NAME    where; westeurope unless given
  --dry              says what --create would ask for, make and cost; it asks nothing
  --endpoint URL     asks what is there instead: an emulator, an account with --key, or the word embedded
  --key KEY          its key; the emulators' published one unless given
  --only ASM-A5,ASM-E13
                     these numbers alone
  --json FILE        writes the report as JSON, --markdown FILE as a table
  --record NAME      writes the run into docs/azure-run.md, by this name

  npm run test:azure -- --dry
  npm run test:azure -- --create --location westeurope --json verdicts.json --record me
  npm run test:azure -- --endpoint http://localhost:8081
  npm run test:azure -- --endpoint embedded --only ASM-E20

Exit code 1: an assumption does not hold. 2: wrong usage, or no verdicts.`;

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`error: ${messageOf(error)}`);
  process.exitCode = 2;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options });
  if (values.help) {
    say(HELP);
    return 0;
  }
  const wanted = values.only?.split(',');
  const unknown = wanted?.filter((number) => !PROBES.some((probe) => probe.number === number)) ?? [];
  if (unknown.length > 0) throw new Error(`There is no probe of ${unknown.join(', ')}`);
  const probes = PROBES.filter(({ number }) => wanted?.includes(number) ?? true);
  if (values.dry) return sayDry(probes, values.location);
  if (values.endpoint === undefined && !values.create) {
    throw new Error(
      'This makes a resource group and a serverless Cosmos DB account in your subscription, and deletes them (below 1 €). Say --create where that is meant, or --endpoint for something that is there.',
    );
  }
  const { signal } = stopped;
  await using target = await open(values, signal);
  const findings = await runProbes(probes, target, (finding) => say(lineOf(finding)));
  const name = values.endpoint ?? `azure ${values.location}`;
  const report = reportOf(name, new Date(), findings);
  say(
    Object.entries(report.counts)
      .map(([verdict, count]) => `${count} ${verdict}`)
      .join(', '),
  );
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  if (values.markdown !== undefined) writeFileSync(values.markdown, markdownOf(report));
  if (values.record !== undefined) writeFileSync(PAGE, recorded(readFileSync(PAGE, 'utf8'), report, values.record));
  return report.counts['does not hold'] > 0 ? 1 : 0;
}

function sayDry(probes: readonly Probe[], location: string): number {
  const { state: _, role, remove, ...first } = commandsOf('millrace-probes-XXXXXXXX', location);
  const lines = [...Object.values(first), [...role, 'YOUR-OBJECT-ID']];
  const asked = probes.toSorted((a, b) => a.number.localeCompare(b.number, 'en', { numeric: true }));
  say('It would run:');
  for (const line of lines) say(`  az ${line.join(' ')}`);
  say(`It would ask ${asked.length} questions of a database of its own:`);
  for (const { number, asks } of asked) say(`  ${number.padEnd(8)} ${asks}`);
  say(`It would delete everything:\n  az ${remove.join(' ')}`);
  say('A serverless account bills requests alone: some thousand request units, below a cent.');
  return 0;
}

function open(
  { endpoint, key, location }: { endpoint?: string; key?: string; location: string },
  signal: AbortSignal,
): Promise<Target> {
  if (endpoint === 'embedded') return openEmbedded(signal);
  if (endpoint !== undefined) return openEndpoint(endpoint, key, signal);
  return openAzure(location, say, signal);
}
