// The process in which an app runs. `functions start` starts it again after every change of a file.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MillraceError, messageOf } from '../../base/errors.ts';
import { plural } from '../../procedures/table.ts';
import { missingSettings } from '../functions/app-settings.ts';
import { indexApp, readAppFiles } from './app-files.ts';
import { type FunctionMetadata, type FunctionsCore, type Invocation, installCore } from './core.ts';
import { cosmosTriggers, runCosmosTrigger } from './cosmos-triggers.ts';
import { eventHubTriggers, runEventHubTrigger } from './event-hub-triggers.ts';
import { rewriteDates } from './host-json.ts';
import { type HttpServer, serveHttp } from './http-server.ts';
import { openKeys } from './keys.ts';
import { listing } from './listing.ts';
import { routesOf } from './routes.ts';
import { type Timers, startTimers } from './timers.ts';
import { hostError } from '../errors.ts';

/** The input of the process: JSON in its only argument. */
export interface WorkerInput {
  readonly root: string;
  readonly port: number;
  /** Index the app, send the functions, and end. */
  readonly list?: boolean;
}

/** The only message that the process sends. */
export type WorkerAnswer =
  | { readonly listed: readonly FunctionMetadata[] }
  | {
      readonly ready: {
        readonly port: number;
        readonly functions: readonly string[];
        readonly lines: readonly string[];
      };
    }
  | { readonly refused: { readonly code: string; readonly message: string; readonly hint: string | undefined } };

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const ending = new AbortController();

/** Ends everything that was started; called in reverse order. */
const open: (() => Promise<void>)[] = [];
async function close(): Promise<void> {
  ending.abort(new DOMException('The local host stops', 'AbortError'));
  for (const end of open.splice(0).toReversed()) await end();
}

/** The time that the Functions host gives a worker to end. Releasing leases takes minutes if the account doesn't answer. */
const END_MS = 10_000;

// The process stops at a message of its parent, or when the parent ends. A terminal sends Ctrl-C to the whole process
// group, so this process ignores signals: the parent decides.
let stopping: Promise<void> | undefined;
const stop = (): void => {
  const late = delay(END_MS).then(() =>
    say(`The running work did not end within ${END_MS / 1_000} s. Its leases expire, and then the work is repeated.`),
  );
  stopping ??= Promise.race([close(), late])
    .catch((error: unknown) => say(messageOf(error)))
    .then(() => process.exit());
};
process.on('message', stop);
process.on('disconnect', stop);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);

process.send?.(
  await start(JSON.parse(process.argv[2] ?? '{}') as WorkerInput).catch(
    async (error: unknown): Promise<WorkerAnswer> => {
      await close();
      const known = error instanceof MillraceError ? error : hostError('unexpected', messageOf(error));
      const { code, message, hint } = known;
      return { refused: { code, message, hint } };
    },
  ),
);

async function start(input: WorkerInput): Promise<WorkerAnswer> {
  const { root, port } = input;
  const { routePrefix, eventHubs } = readAppFiles(root);
  const core = installCore();
  const functions = await indexApp(core, root);
  open.push(() => core.terminate());
  if (input.list) return { listed: functions };
  const missing = missingSettings(functions.flatMap(({ bindings }) => Object.values(bindings)));
  if (missing) throw missing;
  const triggers = cosmosTriggers(functions, process.env);
  const hubTriggers = eventHubTriggers(functions, process.env);

  const routes = routesOf(functions, routePrefix);
  const guarded = routes.filter(({ authLevel }) => authLevel === 'function').map(({ name }) => name);
  const keys = openKeys(join(root, '.millrace', 'function-keys.json'), guarded);
  const timers: Timers = startTimers(functions, process.env, (name, isPastDue) => runTimer(core, name, isPastDue));
  open.push(async () => timers[Symbol.dispose]());
  const server: HttpServer = await serveHttp({
    port,
    routes,
    keys,
    core,
    log: logOf,
    fire: (name) => timers.fire(name),
  });
  open.push(async () => server[Symbol.asyncDispose]());
  // The triggers end in parallel: one that can't reach its account must not delay the others.
  const running: AsyncDisposable[] = [];
  open.push(async () => void (await Promise.all(running.map((trigger) => trigger[Symbol.asyncDispose]()))));
  for (const trigger of triggers) {
    const one = await runCosmosTrigger(trigger, {
      deliver: (name, documents, retryCount) => deliver(core, name, documents, retryCount),
      say,
      signal: ending.signal,
    });
    running.push(one);
  }
  for (const trigger of hubTriggers) {
    const one = await runEventHubTrigger(trigger, {
      host: eventHubs,
      deliver: (name, invocation, count) => deliverEvents(core, name, invocation, count),
      say,
      signal: ending.signal,
    });
    running.push(one);
  }
  const names = functions.map(({ name }) => name);
  return {
    ready: { port: server.port, functions: names, lines: listing(functions, routes, { port: server.port, keys }) },
  };
}

/** Delivers documents like the Functions host: one JSON array, with rewritten dates. */
async function deliver(
  core: FunctionsCore,
  name: string,
  documents: readonly unknown[],
  retryCount: number,
): Promise<void> {
  const began = performance.now();
  await core.invoke(name, {
    data: { string: JSON.stringify(documents.map(rewriteDates)) },
    ...(retryCount > 0 ? { retryCount } : {}),
    log: logOf(name),
  });
  say(`${name}: ${plural(documents.length, 'document')}, ${Math.round(performance.now() - began)} ms`);
}

async function deliverEvents(core: FunctionsCore, name: string, invocation: Invocation, count: number): Promise<void> {
  const began = performance.now();
  await core.invoke(name, { ...invocation, log: logOf(name) });
  say(`${name}: ${count} ${count === 1 ? 'event' : 'events'}, ${Math.round(performance.now() - began)} ms`);
}

async function runTimer(core: FunctionsCore, name: string, IsPastDue: boolean): Promise<void> {
  const info = { Schedule: { AdjustForDST: true }, ScheduleStatus: null, IsPastDue };
  await core
    .invoke(name, { data: { json: JSON.stringify(info) }, log: logOf(name) })
    .catch((error: unknown) => say(`${name}: ${messageOf(error)}`));
}

function logOf(name: string): (level: string, text: string) => void {
  // The default log level of host.json: nothing below `information`.
  return (level, text) => {
    if (level !== 'trace' && level !== 'debug') say(`${name}: ${level === 'information' ? '' : `${level}: `}${text}`);
  };
}
