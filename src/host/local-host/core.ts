import { registerHooks } from 'node:module';
import type { Binding } from '../functions/app-settings.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { hostError } from '../errors.ts';

/** A registered function, with its bindings in the form that the Functions host gets. */
export interface FunctionMetadata {
  readonly name: string;
  readonly bindings: Readonly<Record<string, Binding>>;
  readonly retryOptions?: TriggerRetryOptions;
}

/** Durations in the library's form: whole seconds, as text. */
export interface TriggerRetryOptions {
  readonly retryStrategy?: 'fixedDelay' | 'exponentialBackoff';
  readonly maxRetryCount?: number;
  readonly delayInterval?: { readonly seconds?: number };
  readonly minimumInterval?: { readonly seconds?: number };
  readonly maximumInterval?: { readonly seconds?: number };
}

/** A value between the Functions host and its worker, in the form of RpcTypedData. */
export interface TypedData {
  readonly string?: string;
  readonly json?: string;
  readonly bytes?: Uint8Array;
  readonly collectionBytes?: { readonly bytes: readonly Uint8Array[] };
  readonly collectionString?: { readonly string: readonly string[] };
  readonly http?: HttpData;
}

export interface HttpData {
  readonly method?: string;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly params?: Readonly<Record<string, string>>;
  readonly statusCode?: string;
  readonly body?: TypedData;
}

interface InvocationModel {
  getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], handler: unknown): Promise<unknown>;
  getResponse(context: unknown, result: unknown): Promise<{ returnValue?: TypedData | null }>;
}

interface ProgrammingModel {
  getInvocationModel(core: unknown): InvocationModel;
}

export interface Invocation {
  /** The data that the trigger's binding delivers. */
  readonly data: TypedData;
  /** The metadata that the host adds, by name. */
  readonly triggerMetadata?: Readonly<Record<string, TypedData>>;
  readonly retryCount?: number | undefined;
  readonly maxRetryCount?: number | undefined;
  readonly log?: (level: string, text: string) => void;
}

/** The functions that an app registers. `module` is what `@azure/functions` imports as `@azure/functions-core`. */
export class FunctionsCore {
  readonly #functions = new Map<string, { readonly metadata: FunctionMetadata; readonly handler: unknown }>();
  readonly #hooks = new Map<string, ((context: unknown) => unknown)[]>();
  #model: ProgrammingModel | undefined;
  #invocations = 0;

  /** The module `@azure/functions-core`, which only the Functions worker provides. */
  readonly module = {
    setProgrammingModel: (model: ProgrammingModel): void => {
      this.#model = model;
    },
    registerFunction: (metadata: FunctionMetadata, handler: unknown): void => {
      if (this.#functions.has(metadata.name))
        throw hostError('app-invalid', `Two functions have the name ${metadata.name}`);
      this.#functions.set(metadata.name, { metadata, handler });
    },
    registerHook: (name: string, callback: (context: unknown) => unknown): { dispose(): void } => {
      this.#hooks.set(name, [...(this.#hooks.get(name) ?? []), callback]);
      return { dispose: () => {} };
    },
    log: (): void => {},
  };

  get functions(): readonly FunctionMetadata[] {
    return [...this.#functions.values()].map(({ metadata }) => metadata);
  }

  /** Forgets the registered functions, so that another app can be indexed. */
  clear(): void {
    this.#functions.clear();
    this.#hooks.clear();
  }

  /** Runs a function through the library's own model, like the Functions worker. Rejects when the handler rejects. */
  async invoke(
    name: string,
    { data, triggerMetadata, retryCount, maxRetryCount = -1, log }: Invocation,
  ): Promise<TypedData | undefined> {
    const found = this.#functions.get(name);
    const [binding] = Object.entries(found?.metadata.bindings ?? {}).find(([, of]) => of['direction'] === 'in') ?? [];
    if (!found || !this.#model || binding === undefined)
      throw sharedError('not-found', `There is no function ${name}`, {
        hint: 'List the functions with `millrace functions start --list`.',
      });
    const model = this.#model.getInvocationModel({
      invocationId: `local-${++this.#invocations}`,
      metadata: found.metadata,
      request: {
        inputData: [{ name: binding, data }],
        ...(triggerMetadata ? { triggerMetadata } : {}),
        ...(retryCount === undefined ? {} : { retryContext: { retryCount, maxRetryCount } }),
      },
      log: (level: string, _category: string, text: string) => log?.(level, text),
      state: undefined,
    });
    const { context, inputs } = await model.getArguments();
    const response = await model.getResponse(context, await model.invokeFunction(context, inputs, found.handler));
    return response.returnValue ?? undefined;
  }

  /** Calls the app's `appTerminate` hooks, like the Functions worker when the host scales in or restarts. */
  async terminate(): Promise<void> {
    for (const hook of this.#hooks.get('appTerminate') ?? []) await hook({});
  }
}

const MODULE = '@azure/functions-core';
const URL_OF_IT = 'millrace:functions-core';
const KEY = Symbol.for('millrace.functions-core');

/** Provides the module `@azure/functions-core` for all later imports of this thread. One core a thread. */
export function installCore(): FunctionsCore {
  const holder = globalThis as { [KEY]?: FunctionsCore };
  if (holder[KEY]) return holder[KEY];
  const core = new FunctionsCore();
  holder[KEY] = core;
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === MODULE ? { url: URL_OF_IT, format: 'commonjs', shortCircuit: true } : next(specifier, context),
    load: (url, context, next) =>
      url === URL_OF_IT
        ? {
            format: 'commonjs',
            source: `module.exports = globalThis[Symbol.for('millrace.functions-core')].module;`,
            shortCircuit: true,
          }
        : next(url, context),
  });
  return core;
}
