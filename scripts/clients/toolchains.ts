import { execFile } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** The sources of the judges, in other languages. */
const SOURCES = join(import.meta.dirname, '../../test/clients');

/** How a judge is started, with its packages. */
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
  /**
   * Fetches the packages into a folder of its own in `all`, unless an earlier run has, and returns that folder. Throws
   * `CannotTry` where they or a program can't be had.
   */
  readonly fetch: (all: string) => Promise<string>;
  /** `folder` has the packages; `certificate` is a file that the judge has to trust. */
  readonly start: (folder: string, certificate: string) => Promise<Started>;
}

/** The client can't be tried on this machine. That says nothing about the server. */
export class CannotTry extends Error {}

/** What pip, Maven and Go print where a host can't be reached, or doesn't let us in. Other failures are faults of the lists. */
const UNREACHABLE =
  /Retrying \(|ProxyError|SSLError|Read timed out|Connection (refused|reset|broken)|Could not transfer|in offline mode|Unknown host|UnknownHost|Name or service not known|Temporary failure in name resolution|dial tcp|requires go >=|status( code)?: (401|403|407|5\d\d)|(401|403|407|5\d\d) (Client|Server) Error/;

export const CLIENTS: readonly Client[] = [
  {
    name: 'python',
    needs: ['python3'],
    version: () => pinned('python/requirements.txt', /(azure-cosmos)==(\S+)/),
    fetch: async (all) => {
      await able('python3', '-c', 'import ensurepip, sys; assert sys.version_info >= (3, 10), "older than 3.10"');
      return fetched(all, 'python', 'requirements.txt', async (into, list) => {
        await run('python3', '-m', 'venv', into);
        const pip = ['-m', 'pip', '--disable-pip-version-check', '--retries', '2', 'install', '--quiet'];
        await run(join(into, 'bin/python'), ...pip, '--requirement', list);
      });
    },
    start: (folder) =>
      Promise.resolve({ command: join(folder, 'bin/python'), args: [join(SOURCES, 'python/judge.py')] }),
  },
  {
    name: 'java',
    needs: ['mvn', 'java', 'keytool'],
    version: () => pinned('java/pom.xml', /<artifactId>(azure-cosmos)<\/artifactId>\s*<version>([^<]+)/),
    fetch: async (all) => {
      // One file of source needs no build, and so the compiler of a JDK.
      await able('java', '--add-modules', 'jdk.compiler', '-version');
      return fetched(all, 'java', 'pom.xml', (into, list) =>
        run(
          'mvn',
          '-q',
          '-B',
          '-U',
          '-f',
          list,
          'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies',
          `-DoutputDirectory=${into}`,
        ),
      );
    },
    start: async (folder, certificate) => {
      const [store, password] = [`${certificate}.p12`, 'changeit'];
      const trusting = ['-noprompt', '-file', certificate, '-keystore', store, '-storepass', password];
      await run('keytool', '-importcert', '-storetype', 'PKCS12', ...trusting);
      const trust = [`-Djavax.net.ssl.trustStore=${store}`, `-Djavax.net.ssl.trustStorePassword=${password}`];
      return { command: 'java', args: [...trust, '-cp', join(folder, '*'), join(SOURCES, 'java/Judge.java')] };
    },
  },
  // KEDA's scaler, compiled without those of other services: their clients are hundreds of packages.
  {
    name: 'keda',
    needs: ['go'],
    version: () => pinned('keda/go.mod', /(keda)\/v2 (\S+)/),
    fetch: (all) =>
      fetched(all, 'keda', 'go.mod', async (into, list) => {
        const [module = ''] = /\S+\/keda\/v2 \S+/.exec(readFileSync(list, 'utf8')) ?? [];
        const found = JSON.parse(await run('go', 'mod', 'download', '-json', module.replace(' ', '@'))) as {
          Dir: string;
        };
        const [scalers, kept] = [join(found.Dir, 'pkg/scalers'), ['azure_cosmosdb_scaler.go', 'scaler.go']];
        const filter = (from: string): boolean =>
          dirname(from) !== scalers || !from.endsWith('.go') || kept.includes(basename(from));
        cpSync(found.Dir, join(into, 'keda'), { recursive: true, filter });
        // Go keeps its modules read-only.
        await run('chmod', '-R', 'u+w', into);
        copyFileSync(list, join(into, 'go.mod'));
        await compiled(into);
      }),
    start: async (folder, certificate) => {
      await compiled(folder);
      return { command: 'env', args: [`SSL_CERT_FILE=${certificate}`, join(folder, 'judge')] };
    },
  },
  // Keys of shard maps need no client, and so no packages.
  {
    name: 'keys-python',
    needs: ['python3'],
    version: () => 'standard library',
    fetch: (all) => Promise.resolve(all),
    start: () => Promise.resolve({ command: 'python3', args: [join(SOURCES, 'keys/judge.py')] }),
  },
  {
    name: 'keys-java',
    needs: ['java'],
    version: () => 'standard library',
    fetch: async (all) => {
      await able('java', '--add-modules', 'jdk.compiler', '-version');
      return all;
    },
    start: () => Promise.resolve({ command: 'java', args: [join(SOURCES, 'keys/Judge.java')] }),
  },
];

/** Throws `CannotTry` where a program isn't on PATH. */
export function assertPrograms({ needs }: Client): void {
  const path = (process.env['PATH'] ?? '').split(delimiter);
  const absent = needs.find((program) => !path.some((folder) => existsSync(join(folder, program))));
  if (absent !== undefined) throw new CannotTry(`no ${absent} on PATH`);
}

function pinned(file: string, pattern: RegExp): string {
  const [, name, version] = pattern.exec(readFileSync(join(SOURCES, file), 'utf8')) ?? [];
  return `${name} ${version}`;
}

/** Packages come with it, checked by Go's database of sums. What was compiled once is taken from Go's cache. */
const compiled = (folder: string): Promise<string> =>
  run('go', '-C', folder, 'build', '-mod=mod', '-o', 'judge', join(SOURCES, 'keda/main.go'));

/** The folder with what a list names, made again when the list has changed since. */
async function fetched(
  all: string,
  name: string,
  file: string,
  fetch: (into: string, list: string) => Promise<unknown>,
): Promise<string> {
  const [folder, list, stamp] = [join(all, name), join(SOURCES, name, file), join(all, `${name}.stamp`)];
  const wanted = readFileSync(list, 'utf8');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return folder;
  rmSync(stamp, { force: true });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(all, { recursive: true });
  try {
    await fetch(folder, list);
  } catch (error) {
    const line = String(error)
      .split('\n')
      .find((each) => UNREACHABLE.test(each));
    if (line === undefined) throw error;
    throw new CannotTry(`its packages can't be fetched: ${line.slice(0, 300)}`, { cause: error });
  }
  writeFileSync(stamp, wanted);
  return folder;
}

/** Throws `CannotTry` where a program is there and not able to do this. */
async function able(command: string, ...args: string[]): Promise<void> {
  try {
    await run(command, ...args);
  } catch (error) {
    const why = String(error).trim().split('\n').at(-1);
    throw new CannotTry(`${command} is not able to run it: ${why}`, { cause: error });
  }
}

/** What it prints to standard output. */
function run(command: string, ...args: string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    // A fetch or a build that takes longer keeps its client from being tried.
    execFile(command, args, { maxBuffer: 2 ** 26, timeout: 600_000 }, (error, stdout, stderr) => {
      const said = stripVTControlCharacters(`${stdout}${stderr}`).trim().slice(-4_000) || error?.message;
      if (error === null) resolve(stdout);
      else reject(new Error(`${command} ${args.join(' ')}\n${said}`));
    });
  });
}
