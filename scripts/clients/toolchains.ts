import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** What the judges are made of in other languages. */
const SOURCES = join(import.meta.dirname, '../../test/clients');
/** What is fetched and made for them; never committed. */
const FETCHED = join(import.meta.dirname, '../../.millrace/clients');

/** How a judge is started, once its packages are there. */
export interface Started {
  readonly command: string;
  readonly args: readonly string[];
}

export interface Client {
  readonly name: string;
  /** Programs, without which it is skipped. */
  readonly needs: readonly string[];
  /** Name and version of the client, as its own list of dependencies pins them. */
  readonly version: () => string;
  /** Fetches the packages, where that wasn't done yet; `certificate` is a file that the judge has to trust. */
  readonly prepare: (certificate: string) => Started;
}

export const CLIENTS: readonly Client[] = [
  {
    name: 'python',
    needs: ['python3'],
    version: () => pinned('python/requirements.txt', /(azure-cosmos)==(\S+)/),
    prepare: () => {
      const folder = fetched('python', 'requirements.txt', (into, list) => {
        run('python3', '-m', 'venv', into);
        run(join(into, 'bin/python'), '-m', 'pip', 'install', '--quiet', '--requirement', list);
      });
      return { command: join(folder, 'bin/python'), args: [join(SOURCES, 'python/judge.py')] };
    },
  },
  {
    name: 'java',
    needs: ['mvn', 'java', 'keytool'],
    version: () => pinned('java/pom.xml', /<artifactId>(azure-cosmos)<\/artifactId>\s*<version>([^<]+)/),
    prepare: (certificate) => {
      const folder = fetched('java', 'pom.xml', (into, list) =>
        run('mvn', '-q', '-B', '-f', list, 'dependency:copy-dependencies', `-DoutputDirectory=${into}`),
      );
      const [store, password] = [`${certificate}.p12`, 'changeit'];
      const trusting = ['-noprompt', '-file', certificate, '-keystore', store, '-storepass', password];
      run('keytool', '-importcert', '-storetype', 'PKCS12', ...trusting);
      const trust = [`-Djavax.net.ssl.trustStore=${store}`, `-Djavax.net.ssl.trustStorePassword=${password}`];
      // One file of source needs no build.
      return { command: 'java', args: [...trust, '-cp', join(folder, '*'), join(SOURCES, 'java/Judge.java')] };
    },
  },
];

/** Why a client can't be tried here, or undefined. */
export function missing({ needs }: Client): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const absent = needs.find((program) => !path.some((folder) => existsSync(join(folder, program))));
  return absent === undefined ? undefined : `no ${absent} on PATH`;
}

function pinned(file: string, pattern: RegExp): string {
  const [, name, version] = pattern.exec(readFileSync(join(SOURCES, file), 'utf8')) ?? [];
  return `${name} ${version}`;
}

/** The folder with what a list names, made anew when the list has changed since. */
function fetched(name: string, file: string, fetch: (into: string, list: string) => void): string {
  const [folder, list, stamp] = [join(FETCHED, name), join(SOURCES, name, file), join(FETCHED, `${name}.stamp`)];
  const wanted = readFileSync(list, 'utf8');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(FETCHED, { recursive: true });
  fetch(folder, list);
  writeFileSync(stamp, wanted);
  return folder;
}

function run(command: string, ...args: string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status === 0) return;
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? `${stdout}${stderr}`.trim().slice(-2_000)}`);
}
