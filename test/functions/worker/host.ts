// Plays the host to a language worker in a process of its own, on any Node: what each trigger delivers is typed as the
// host types it (ASM-F2, ASM-F11, ASM-F12).
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { rewriteDates } from '../../../src/host/local-host/host-json.ts';
import type {
  FunctionMetadata,
  HostMessage,
  InvocationRequest,
  InvocationResponse,
  RpcHttp,
  TypedData,
  WorkerMessage,
} from './protocol.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface WorkerHost extends AsyncDisposable {
  /** The worker's own Node. */
  readonly version: string;
  readonly functions: readonly FunctionMetadata[];
  /** `level: message`, of all functions. */
  readonly logged: readonly string[];
  /** What the process wrote by itself; both streams. */
  readonly written: string;
  /** A Cosmos DB trigger's batch. Rejects when the function failed. */
  deliver(
    name: string,
    documents: readonly unknown[],
    options?: { readonly retryCount?: number; readonly as?: 'string' | 'json' },
  ): Promise<void>;
  fire(name: string): Promise<void>;
  request(
    name: string,
    request?: {
      readonly method?: string;
      readonly params?: Readonly<Record<string, string>>;
      readonly query?: Readonly<Record<string, string>>;
      readonly body?: unknown;
    },
  ): Promise<HttpAnswer>;
  /** Asks the worker to end, and answers with its exit code. */
  terminate(): Promise<number | null>;
}

type Kind = keyof WorkerMessage;
type Answer<K extends Kind> = NonNullable<WorkerMessage[K]>;

/** Rejects with what the process wrote where it ends before it has indexed the app. */
export async function startWorkerHost(
  node: string,
  functionAppDirectory: string,
  env: Readonly<Record<string, string>>,
): Promise<WorkerHost> {
  const child = spawn(node, [join(import.meta.dirname, 'language-worker.ts')], {
    cwd: functionAppDirectory,
    env: { ...process.env, NODE_OPTIONS: '', AZURE_FUNCTIONS_ENVIRONMENT: 'Development', ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Bytes stay bytes.
    serialization: 'advanced',
  });
  const worker = new Worker(child);
  try {
    const init = { workerInitRequest: { hostVersion: '4.1045.0', functionAppDirectory } };
    const { runtimeVersion } = await worker.ask(init, 'workerInitResponse');
    const metadata = await worker.ask(
      { functionsMetadataRequest: { functionAppDirectory } },
      'functionMetadataResponse',
    );
    if (metadata.result.status === 'failure') throw new Error(metadata.result.exception?.message);
    return hostOf(worker, runtimeVersion, metadata.functionMetadataResults);
  } catch (error) {
    await worker.kill();
    throw error;
  }
}

/** A process and what it says. */
class Worker {
  readonly logged: string[] = [];
  readonly #child: ChildProcess;
  readonly #waiting = new Set<{ take: (message: WorkerMessage) => boolean; fail: (error: Error) => void }>();
  readonly #closed: Promise<unknown>;
  written = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => (this.written += text));
    child.on('message', (message: WorkerMessage) => {
      if (message.rpcLog) this.logged.push(`${message.rpcLog.level}: ${message.rpcLog.message}`);
      for (const each of this.#waiting) if (each.take(message)) this.#waiting.delete(each);
    });
    this.#closed = once(child, 'close');
    child.once('close', (code) => {
      for (const { fail } of this.#waiting) fail(new Error(`The worker ended (${code})\n${this.written}`));
    });
  }

  /** The next answer of that kind, or of that invocation. */
  async ask<K extends Kind>(message: HostMessage, answer: K, invocationId?: string): Promise<Answer<K>> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer<K>>();
    this.#waiting.add({
      take: (said) => {
        const found = said[answer] as Answer<K> | undefined;
        if (!found || ('invocationId' in found && found.invocationId !== invocationId)) return false;
        resolve(found);
        return true;
      },
      fail: reject,
    });
    this.#child.send(message);
    return promise;
  }

  tell(message: HostMessage): void {
    this.#child.send(message);
  }

  async end(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.#closed;
  }
}

function hostOf(worker: Worker, version: string, functions: readonly FunctionMetadata[]): WorkerHost {
  let invocations = 0;
  const invoke = async (
    name: string,
    data: TypedData,
    more: Partial<Pick<InvocationRequest, 'triggerMetadata' | 'retryContext'>> = {},
  ): Promise<InvocationResponse> => {
    const of = functions.find((each) => each.name === name);
    const trigger = of?.rawBindings
      .map((raw) => JSON.parse(raw) as { name: string; type: string })
      .find(({ type }) => /trigger$/i.test(type));
    if (!of || !trigger) throw new Error(`There is no function ${name}`);
    const invocationId = `00000000-0000-4000-8000-${String(++invocations).padStart(12, '0')}`;
    const sys = { MethodName: name, UtcNow: new Date().toISOString(), RandGuid: invocationId };
    const invocationRequest: InvocationRequest = {
      invocationId,
      functionId: of.functionId,
      inputData: [{ name: trigger.name, data }],
      triggerMetadata: { sys: { json: JSON.stringify(sys) }, ...more.triggerMetadata },
      traceContext: { traceParent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01`, traceState: '' },
      ...(more.retryContext && { retryContext: more.retryContext }),
    };
    const response = await worker.ask({ invocationRequest }, 'invocationResponse', invocationId);
    if (response.result.status === 'failure') throw new Error(response.result.exception?.message);
    return response;
  };
  return {
    version,
    functions,
    logged: worker.logged,
    get written() {
      return worker.written;
    },
    deliver: async (name, documents, { retryCount = 0, as = 'string' } = {}) => {
      const retryContext = retryCount === 0 ? {} : { retryContext: { retryCount, maxRetryCount: -1 } };
      await invoke(name, { [as]: JSON.stringify(documents.map(rewriteDates)) }, retryContext);
    },
    fire: async (name) => {
      const last = new Date(Date.now() - 300_000).toISOString();
      const ScheduleStatus = { Last: last, LastUpdated: last, Next: new Date().toISOString() };
      const timer = { Schedule: { AdjustForDST: true }, ScheduleStatus, IsPastDue: false };
      await invoke(name, { json: JSON.stringify(timer) }, { triggerMetadata: { TimerTrigger: { json: '{}' } } });
    },
    request: async (name, request = {}) => answerOf(await invoke(name, { http: httpOf(request) })),
    terminate: async () => {
      worker.tell({ workerTerminate: {} });
      return worker.end();
    },
    [Symbol.asyncDispose]: () => worker.kill(),
  };
}

/** As the host sends it to a worker that takes nullable values and the body as bytes. */
function httpOf({ method = 'GET', params = {}, query = {}, body }: Parameters<WorkerHost['request']>[1] & {}): RpcHttp {
  const nullable = (of: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(of).map(([name, value]) => [name, { value }]));
  const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
  const headers = {
    host: 'localhost:7071',
    ...(bytes && { 'content-type': 'application/json', 'content-length': String(bytes.length) }),
  };
  return {
    method,
    url: `http://localhost:7071/api/millrace/${Object.values(params).join('/')}?${new URLSearchParams(query).toString()}`,
    headers: {},
    query: {},
    params: {},
    nullableHeaders: nullable(headers),
    nullableQuery: nullable(query),
    nullableParams: nullable(params),
    ...(bytes && { body: { bytes } }),
  };
}

function answerOf({ returnValue }: InvocationResponse): HttpAnswer {
  const { statusCode, body } = returnValue?.http ?? {};
  const text = Buffer.from(body?.bytes ?? []).toString();
  return { status: Number(statusCode), body: text === '' ? undefined : (JSON.parse(text) as unknown) };
}
