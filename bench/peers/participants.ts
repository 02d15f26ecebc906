import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CLIENTS, CannotTry, assertPrograms } from '../../scripts/clients/toolchains.ts';
import type { Stage } from '../support/stage.ts';
import { TIMINGS } from './timings.ts';

const ROOT = join(import.meta.dirname, '../..');
const PIPELINE = join(import.meta.dirname, 'pipeline');
const MILLRACE = join(ROOT, 'bin/millrace.mjs');
const run = promisify(execFile);

/** The server, and where its certificate is stored. */
export interface Place {
  readonly stage: Stage;
  readonly folder: string;
}

export interface Participant {
  readonly name: string;
  readonly title: string;
  /** The code that its user writes; imports and declarations count. */
  readonly lines: () => number;
  /** Once a server. @throws CannotTry */
  readonly prepare?: (place: Place) => Promise<void>;
  readonly start: (place: Place) => ChildProcess;
}

export const PARTICIPANTS: readonly Participant[] = [
  trigger('one', 'a trigger function, one change at a time', ['one-at-a-time']),
  trigger('32', 'the same, 32 at once', ['at-once']),
  trigger('etag', 'its counter with an ETag, 32 at once', ['with-etag', 'at-once']),
  trigger('recount', 'a recount with an ETag, 32 at once', ['recount', 'with-etag', 'at-once']),
  {
    name: 'java',
    title: 'Java’s ChangeFeedProcessor with upserts',
    lines: () => countLines(ownPart(readFileSync(join(import.meta.dirname, 'Upserts.java'), 'utf8'))),
    prepare: ({ folder }) => compileJava(folder, 'Upserts'),
    start: (place) => startJava(place, 'Upserts', ['peer']),
  },
  {
    name: 'millrace',
    title: 'Millrace',
    lines: () => linesOf(join(PIPELINE, 'pipeline.ts')) + linesOf(join(PIPELINE, 'model.ts')),
    prepare: async (place) => {
      const env = environment(place);
      await run(process.execPath, [MILLRACE, 'model', 'apply', '--pipeline', PIPELINE], { cwd: ROOT, env });
    },
    start: (place) => {
      const { pollMs, expirationMs } = TIMINGS;
      const pace = ['--poll-delay', String(pollMs), '--lease-expiration', String(expirationMs)];
      return started(place, process.execPath, [MILLRACE, 'run', '--host', 'peer', '--pipeline', PIPELINE, ...pace]);
    },
  },
];

function trigger(name: string, title: string, files: readonly string[]): Participant {
  const pathOf = (file: string): string => join(import.meta.dirname, 'code', `${file}.ts`);
  return {
    name,
    title,
    lines: () => [...files, 'derive'].reduce((sum, file) => sum + linesOf(pathOf(file)), 0),
    start: (place) => {
      const { endpoint, key } = place.stage;
      const main = join(import.meta.dirname, 'trigger.ts');
      const args = [endpoint, key, pathOf(files[0] ?? '')];
      return started(place, process.execPath, ['--conditions=millrace-source', main, ...args]);
    },
  };
}

const ownPart = (text: string): string => text.split(/\/\/ User code: .*/)[1] ?? '';
const linesOf = (file: string): number => countLines(readFileSync(file, 'utf8'));
const countLines = (text: string): number =>
  text.split('\n').filter((line) => line.trim() !== '' && !/^\s*(?:\/\/|\/?\*)/.test(line)).length;

function environment({ stage, folder }: Place): NodeJS.ProcessEnv {
  const { endpoint, key } = stage;
  return {
    ...process.env,
    COSMOS: `AccountEndpoint=${endpoint};AccountKey=${key};`,
    COSMOS_ENDPOINT: endpoint,
    COSMOS_KEY: key,
    COSMOS_DATABASE: stage.database.id,
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
  };
}

/** One process, which SIGKILL ends. */
export function started(place: Place, command: string, args: readonly string[]): ChildProcess {
  // What it writes about its failures is expected, and its own affair, unless somebody wants to look.
  const stderr = process.env['MILLRACE_BENCH_SHOW'] === undefined ? 'ignore' : 'inherit';
  const child = spawn(command, args, { cwd: ROOT, env: environment(place), stdio: ['ignore', 'pipe', stderr] });
  child.stdout.resume();
  return child;
}

let javaPlace = { packages: '', trust: [] as readonly string[] };

/** The packages of `check:clients`, and one class compiled against them. @throws CannotTry */
export async function compileJava(folder: string, name: string): Promise<void> {
  const client = CLIENTS.find((one) => one.name === 'java');
  if (!client) throw new CannotTry('check:clients has no Java');
  assertPrograms({ ...client, needs: [...client.needs, 'javac'] });
  const packages = await client.fetch(join(ROOT, '.millrace/clients'));
  const { args } = await client.start(packages, join(folder, 'ca.pem'));
  javaPlace = { packages, trust: args.filter((arg) => arg.startsWith('-D')) };
  const source = join(import.meta.dirname, `${name}.java`);
  await run('javac', ['-d', folder, '-cp', join(packages, '*'), source]);
}

/** After `compileJava`. The intervals come after `args`: poll, acquire, renew, expiration. */
export function startJava(place: Place, name: string, args: readonly string[]): ChildProcess {
  const { pollMs, acquireMs, renewMs, expirationMs } = TIMINGS;
  const pace = [pollMs, acquireMs, renewMs, expirationMs].map(String);
  const { packages, trust } = javaPlace;
  return started(place, 'java', [...trust, '-cp', `${join(packages, '*')}:${place.folder}`, name, ...args, ...pace]);
}
