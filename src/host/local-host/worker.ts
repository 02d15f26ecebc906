// The process that an app runs in: started anew at every change, as the host restarts its worker.
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { MillraceError, messageOf } from '../../base/errors.ts';
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

/** What the one who starts it gives, as JSON, in the only argument. */
export interface WorkerInput {
  readonly root: string;
  readonly port: number;
  /** Index the app, say what is in it, and end. */
  readonly list?: boolean;
}

/** What it says, once. */
export type WorkerAnswer =
  | { readonly listed: readonly FunctionMetadata[] }
  | {
      readonly ready: {
        readonly port: number;
        readonly functions: readonly string[];
        readonly lines: readonly string[];
      };
    }
  | { readonly refused: { readonly code: string; readonly message: string; readonly mend: string | undefined } };

const say = (line: string): void => void process.stdout.write(`${line}\n`);
const ending = new AbortController();

/** Whatever was started, to be ended in reverse. */
const open: (() => Promise<void>)[] = [];
async function close(): Promise<void> {
  ending.abort(new DOMException('The local host stops', 'AbortError'));
  for (const end of open.splice(0).toReversed()) await end();
}

/** What the host leaves a worker that it ends; with an account that is gone, giving leases back would take minutes. */
const END_MS = 10_000;

// Asked to stop, or the one who could ask is gone. The signals of a terminal reach the whole group, and aren't for us.
let stopping: Promise<void> | undefined;
const stop = (): void => {
  const late = delay(END_MS).then(() =>
    say(`What was in hand did not end within ${END_MS / 1_000} s; its leases expire, and it is taken up again there.`),
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
      const refusal = error instanceof MillraceError ? error : new MillraceError('unexpected', messageOf(error));
      const { code, message, mend } = refusal;
      return { refused: { code, message, mend } };
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
  // They end side by side: one that can't reach its account must not take the time of the others.
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

/** One JSON array, dates rewritten: what a function gets of the host, and what it doesn't get of our processor. */
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
  say(`${name}: ${documents.length} documents, ${Math.round(performance.now() - began)} ms`);
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
  // As host.json has it for us by default: what is below information isn't shown.
  return (level, text) => {
    if (level !== 'trace' && level !== 'debug') say(`${name}: ${level === 'information' ? '' : `${level}: `}${text}`);
  };
}
