// The published clients of other languages against the embedded server, and Java's change feed processor beside ours, with
// leases handed over and back. The judges are in test/clients; what each says of itself is printed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf } from '../src/base/errors.ts';
import { startEmulator } from '../src/emulator/index.ts';
import { Ours } from './clients/ours.ts';
import { CLIENTS, CannotTry, type Client, assertPrograms } from './clients/toolchains.ts';
import { type Judged, judged } from './clients/verdict.ts';

const HELP = `npm run check:clients -- [--only ${CLIENTS.map(({ name }) => name).join('|')}] [--packages FOLDER] [--json]

Tries the published clients of other languages on the embedded server, by TLS, and prints for each what it wrote, what it
was given, and each difference. Skips a client whose programs or packages can't be had here, with the reason.

  --packages FOLDER  where packages are fetched, once; .millrace/clients unless given

  npm run check:clients
  npm run check:clients -- --only java
  npm run --silent check:clients -- --json

Exit code 0: no difference, skipped clients included. 1: a client found a difference, or its check broke. 2: wrong usage.`;

interface Report extends Judged {
  readonly client: string;
  readonly version: string;
  /** Why it can't be tried here. */
  readonly skipped?: string;
  readonly seconds?: number;
}

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    packages: { type: 'string', default: join(import.meta.dirname, '../.millrace/clients') },
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
  const fetching = chosen.map((client) => ({ client, packages: packagesOf(client) }));
  // Each is awaited in its turn; a failure before that isn't lost.
  for (const { packages } of fetching) packages.catch(() => undefined);
  const reports: Report[] = [];
  for (const { client, packages } of fetching) {
    const report = await tried(client, packages);
    reports.push(report);
    if (!values.json) console.log(text(report));
  }
  if (values.json) console.log(JSON.stringify(reports, null, 2));
  else console.log(summary(reports));
  if (reports.some((report) => report.broke !== undefined || differences(report) > 0)) process.exitCode = 1;
}

async function packagesOf(client: Client): Promise<string> {
  assertPrograms(client);
  return client.fetch(resolve(values.packages));
}

async function tried(client: Client, packages: Promise<string>): Promise<Report> {
  const about = { client: client.name, version: client.version(), verdicts: [] };
  const folder = mkdtempSync(join(tmpdir(), 'millrace-clients-'));
  try {
    const fetched = await packages;
    await using stack = new AsyncDisposableStack();
    const emulator = stack.adopt(await startEmulator({ tls: true, seed: 1, previousImages: true }), (each) =>
      each.close(),
    );
    const certificate = join(folder, 'ca.pem');
    writeFileSync(certificate, emulator.certificate ?? '');
    const started = await client.start(fetched, certificate);
    const ours = new Ours(emulator, folder);
    await ours.setUp();
    const began = performance.now();
    const env = { COSMOS_ENDPOINT: emulator.endpoint, COSMOS_KEY: emulator.key };
    const found = await judged(started, env, (request) => ours.answer(request));
    return { ...about, ...found, seconds: Math.round((performance.now() - began) / 1_000) };
  } catch (error) {
    return { ...about, [error instanceof CannotTry ? 'skipped' : 'broke']: messageOf(error) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function differences({ verdicts }: Report): number {
  return verdicts.reduce((sum, { wrong }) => sum + wrong.length, 0);
}

function text({ client, version, skipped, broke, seconds, verdicts }: Report): string {
  if (skipped !== undefined) return `skipped: ${client} (${skipped})`;
  const lines = verdicts.map(({ check, counts, wrong }) => {
    const counted = Object.entries(counts).map(([what, count]) => `${what} ${count}`);
    const head = `  ${wrong.length === 0 ? 'ok' : 'DIFFERS'}  ${check}: ${counted.join(', ')}`;
    return [head, ...wrong.map((each) => `      ${each}`)].join('\n');
  });
  if (broke !== undefined) lines.push(`  BROKE  ${broke}`);
  return [`${client}: ${version}${seconds === undefined ? '' : `, ${seconds} s`}`, ...lines].join('\n');
}

function summary(reports: readonly Report[]): string {
  const count = (is: (report: Report) => unknown): number => reports.filter(is).length;
  const [skipped, broke] = [count((each) => each.skipped !== undefined), count((each) => each.broke !== undefined)];
  const checks = reports.reduce((sum, { verdicts }) => sum + verdicts.length, 0);
  const differing = reports.reduce((sum, report) => sum + differences(report), 0);
  return `clients: ${reports.length - skipped} tried, ${skipped} skipped, ${broke} broke; ${checks} checks, ${differing} differences`;
}
