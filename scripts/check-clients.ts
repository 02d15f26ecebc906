// The published clients of other languages against the embedded server, and Java's change feed processor beside ours, with
// leases handed over and back. The judges are in test/clients; what each says of itself is printed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/base/errors.ts';
import { startEmulator } from '../src/emulator/index.ts';
import { Ours } from './clients/ours.ts';
import { CLIENTS, type Client, missing } from './clients/toolchains.ts';
import { type Verdict, verdicts } from './clients/verdict.ts';

const HELP = `npm run check:clients -- [--only ${CLIENTS.map(({ name }) => name).join('|')}] [--json]

Tries the published clients of other languages on the embedded server, by TLS: what each wrote, what it was given, and
each difference. A client whose programs aren't on PATH is skipped. Packages are fetched once, into .millrace/clients.

  npm run check:clients
  npm run check:clients -- --only java
  npm run --silent check:clients -- --json

Exit code 1: a client found a difference. 2: wrong usage.`;

interface Report {
  readonly client: string;
  readonly version: string;
  readonly skipped?: string;
  readonly seconds?: number;
  readonly verdicts: readonly Verdict[];
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const chosen = CLIENTS.filter(({ name }) => values.only === undefined || values.only === name);
if (values.help) console.log(HELP);
else if (chosen.length > 0) await run();
else {
  console.error(`--only takes one of ${CLIENTS.map(({ name }) => name).join(', ')}.`);
  process.exitCode = 2;
}

async function run(): Promise<void> {
  const reports: Report[] = [];
  for (const client of chosen) {
    const report = await tried(client);
    reports.push(report);
    if (!values.json) console.log(text(report));
  }
  if (values.json) console.log(JSON.stringify(reports, null, 2));
  if (reports.some((report) => report.verdicts.some(({ wrong }) => wrong.length > 0))) process.exitCode = 1;
}

async function tried(client: Client): Promise<Report> {
  const about = { client: client.name, version: client.version() };
  const skipped = missing(client);
  if (skipped !== undefined) return { ...about, skipped, verdicts: [] };
  const folder = mkdtempSync(join(tmpdir(), 'millrace-clients-'));
  const emulator = await startEmulator({ tls: true, seed: 1, previousImages: true });
  try {
    const certificate = join(folder, 'ca.pem');
    writeFileSync(certificate, emulator.certificate ?? '');
    const started = client.prepare(certificate);
    const ours = new Ours(emulator, folder);
    await ours.setUp();
    const began = performance.now();
    const env = { COSMOS_ENDPOINT: emulator.endpoint, COSMOS_KEY: emulator.key };
    const said = await verdicts(started, env, (request) => ours.answer(request));
    return { ...about, seconds: Math.round((performance.now() - began) / 1_000), verdicts: said };
  } catch (error) {
    return { ...about, verdicts: [{ check: 'what comes before', counts: {}, wrong: [messageOf(error)] }] };
  } finally {
    await emulator.close();
    rmSync(folder, { recursive: true });
  }
}

function text({ client, version, skipped, seconds, verdicts: all }: Report): string {
  if (skipped !== undefined) return `skipped: ${client} (${skipped})`;
  const lines = all.map(({ check, counts, wrong }) =>
    [
      `  ${wrong.length === 0 ? 'ok' : 'DIFFERS'}  ${check}: ${Object.entries(counts)
        .map(([what, count]) => `${what} ${count}`)
        .join(', ')}`,
      ...wrong.map((each) => `      ${each}`),
    ].join('\n'),
  );
  return [`${client}: ${version}${seconds === undefined ? '' : `, ${seconds} s`}`, ...lines].join('\n');
}
