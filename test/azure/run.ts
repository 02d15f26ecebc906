// Asks a service about the numbered assumptions of docs/assumptions.md, and prints a verdict for each number.
//   npm run test:azure -- --create --location westeurope     on your own account in Azure, as `az login` has it
//   npm run test:azure -- --endpoint http://localhost:8081   on an emulator, or any account with --key
//   npm run test:azure -- --endpoint embedded                on the embedded server
// Also: --only A5,E13; --json FILE; --markdown FILE. Exit code 1: something does not hold; 2: wrong usage, or no verdicts.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { messageOf } from '../../src/base/errors.ts';
import { PROBES } from './probes/index.ts';
import { lineOf, markdownOf, reportOf } from './report.ts';
import { runProbes } from './run-probes.ts';
import { type Target, openAzure, openEmbedded, openEndpoint } from './targets.ts';

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
  only: text,
  json: text,
  markdown: text,
} as const;

try {
  process.exitCode = await main();
} catch (error) {
  console.error(`error: ${messageOf(error)}`);
  process.exitCode = 2;
}

async function main(): Promise<number> {
  const { values } = parseArgs({ options });
  const wanted = values.only?.split(',');
  const unknown = wanted?.filter((number) => !PROBES.some((probe) => probe.number === number)) ?? [];
  if (unknown.length > 0) throw new Error(`There is no probe of ${unknown.join(', ')}`);
  const probes = PROBES.filter(({ number }) => wanted?.includes(number) ?? true);
  if (values.endpoint === undefined && !values.create) {
    throw new Error(
      'This makes a resource group and a serverless Cosmos DB account in your subscription, and deletes them (below 1 €). Say --create where that is meant, or --endpoint for something that is there.',
    );
  }
  const { signal } = stopped;
  await using target = await open(values, signal);
  const findings = await runProbes(probes, target, (finding) => say(lineOf(finding)));
  const name = values.endpoint ?? `azure ${values.location}`;
  const report = reportOf(name, new Date(), findings, wanted === undefined);
  for (const each of report.findings) if (each.asks === '') say(lineOf(each));
  say(
    Object.entries(report.counts)
      .map(([verdict, count]) => `${count} ${verdict}`)
      .join(', '),
  );
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
  if (values.markdown !== undefined) writeFileSync(values.markdown, markdownOf(report));
  return report.counts['does not hold'] > 0 ? 1 : 0;
}

function open(
  { endpoint, key, location }: { endpoint?: string; key?: string; location: string },
  signal: AbortSignal,
): Promise<Target> {
  if (endpoint === 'embedded') return openEmbedded(signal);
  if (endpoint !== undefined) return openEndpoint(endpoint, key, signal);
  return openAzure(location, say, signal);
}
