// Plays the language worker: a process that finds the app by "main", gives @azure/functions the module that only a
// worker has, and runs what the host asks for. Messages go over the process's channel where the real one speaks gRPC.
import { globSync, readFileSync } from 'node:fs';
import Module from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FunctionMetadata, HostMessage, InvocationRequest, TypedData, WorkerMessage } from './protocol.ts';

type Hook = (context: object) => unknown;
interface InvocationModel {
  getArguments(): Promise<{ context: object; inputs: unknown[] }>;
  invokeFunction(context: object, inputs: unknown[], handler: unknown): Promise<unknown>;
  getResponse(
    context: object,
    result: unknown,
  ): Promise<{ outputData?: { name: string; data: TypedData }[]; returnValue?: TypedData | null }>;
}
interface ProgrammingModel {
  readonly name: string;
  readonly version: string;
  getInvocationModel(context: object): InvocationModel;
  getCapabilities?(of: Record<string, string>): Record<string, string> | Promise<Record<string, string>>;
}

const functions = new Map<string, { metadata: FunctionMetadata; callback: unknown }>();
const hooks = new Map<string, Hook[]>();
const appHookData = {};
let model: ProgrammingModel | undefined;
let indexed = false;
/** Kept until the host asks for the functions, as in the real one: the worker itself is well. */
let startError: unknown;

const send = (message: WorkerMessage): void => void process.send?.(message);
const success = { status: 'success' } as const;
const failure = (error: unknown) => {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  return { status: 'failure', exception: { message, stackTrace: stack ?? '' } } as const;
};

const core = {
  version: '3.13.0',
  hostVersion: '4.1045.0',
  setProgrammingModel: (of: ProgrammingModel): void => {
    model = of;
  },
  getProgrammingModel: () => model,
  registerFunction: (
    metadata: Pick<FunctionMetadata, 'name' | 'bindings'> & { functionId?: string },
    callback: unknown,
  ): object => {
    if (indexed) throw new Error('A function can only be registered during app startup.');
    const functionId = metadata.functionId ?? metadata.name;
    if (functions.has(functionId)) throw new Error(`A function with id "${functionId}" has already been registered.`);
    const rawBindings = Object.entries(metadata.bindings).map(([name, of]) => JSON.stringify({ ...of, name }));
    functions.set(functionId, { metadata: { ...metadata, functionId, rawBindings }, callback });
    return new Disposable(() => functions.delete(functionId));
  },
  registerHook: (name: string, callback: Hook): object => {
    hooks.set(name, [...(hooks.get(name) ?? []), callback]);
    return new Disposable(() => hooks.set(name, hooks.get(name)?.filter((each) => each !== callback) ?? []));
  },
  log: (level: string, _category: string, message: string): void => send({ rpcLog: { level, message } }),
};

class Disposable {
  readonly dispose: () => void;
  constructor(dispose: () => unknown) {
    this.dispose = () => void dispose();
  }
}

// `require` alone knows the module, as in the real worker: an app can't import it.
const { prototype } = Module as unknown as { prototype: { require: (id: string) => unknown } };
const original = prototype.require;
prototype.require = function require(this: unknown, id: string): unknown {
  return id === '@azure/functions-core' ? { ...core, Disposable } : original.call(this, id);
};

process.on('uncaughtException', (error) => {
  console.error(`Worker uncaught exception: ${error.stack ?? error.message}`);
  process.exit(1);
});
process.on('message', (message: HostMessage) => void handle(message));

async function handle(message: HostMessage): Promise<void> {
  if ('workerInitRequest' in message) {
    const { functionAppDirectory } = message.workerInitRequest;
    await load(functionAppDirectory).catch((error: unknown) => (startError = error));
    await runHooks('appStart', { hookData: {}, appHookData, functionAppDirectory });
    // What the real worker says of itself; a model may add to it.
    const own = { RawHttpBodyBytes: 'true', RpcHttpBodyOnly: 'true', UseNullableValueDictionaryForHttp: 'true' };
    const capabilities = (await model?.getCapabilities?.(own)) ?? own;
    send({ workerInitResponse: { result: success, capabilities, runtimeVersion: process.version } });
  } else if ('functionsMetadataRequest' in message) {
    indexed = true;
    const functionMetadataResults = startError ? [] : [...functions.values()].map(({ metadata }) => metadata);
    const result = startError === undefined ? success : failure(startError);
    send({ functionMetadataResponse: { result, functionMetadataResults } });
  } else if ('invocationRequest' in message) {
    const { invocationId } = message.invocationRequest;
    const response = await invoke(message.invocationRequest).then(
      ({ outputData = [], returnValue = null }) => ({ outputData, returnValue, result: success }),
      (error: unknown) => ({ outputData: [], result: failure(error) }),
    );
    send({ invocationResponse: { invocationId, ...response } });
  } else {
    await runHooks('appTerminate', { hookData: {}, appHookData });
    process.exit(0);
  }
}

async function load(root: string): Promise<void> {
  const { main = '', type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>;
  const files = globSync(main, { cwd: root });
  if (files.length === 0) throw new Error(`Worker was unable to load entry point "${main}": File does not exist`);
  for (const file of files) {
    // The real one imports modules and requires the rest; ours is a module.
    if (type !== 'module' && !file.endsWith('.mjs')) throw new Error(`${file} is no ES module`);
    await import(pathToFileURL(join(root, file)).href);
  }
}

async function invoke(request: InvocationRequest) {
  const found = functions.get(request.functionId);
  if (!found || !model) throw new Error(`Function code for '${request.functionId}' is not loaded.`);
  const { invocationId } = request;
  const invocation = model.getInvocationModel({
    invocationId,
    request,
    metadata: found.metadata,
    log: (level: string, _category: string, message: string) => send({ rpcLog: { invocationId, level, message } }),
    state: undefined,
  });
  const { context, inputs } = await invocation.getArguments();
  const hooked = { hookData: {}, appHookData, invocationContext: context, functionCallback: found.callback, inputs };
  await runHooks('preInvocation', hooked);
  const outcome: { result: unknown; error: unknown } = { result: null, error: null };
  try {
    outcome.result = await invocation.invokeFunction(context, hooked.inputs, hooked.functionCallback);
  } catch (error) {
    outcome.error = error;
  }
  const after = { ...hooked, ...outcome };
  await runHooks('postInvocation', after);
  if (after.error instanceof Error) throw after.error;
  return invocation.getResponse(context, after.result);
}

async function runHooks(name: string, context: object): Promise<void> {
  for (const hook of hooks.get(name) ?? []) await hook(context);
}
