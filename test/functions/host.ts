// Stands in for the Functions host: supplies the module the host builds into its worker, indexes the app as the worker
// does, and delivers batches through the real library's invocation model.
import { registerHooks } from 'node:module';
import { vi } from 'vitest';

interface Metadata {
  readonly name: string;
  readonly bindings: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly retryOptions?: Readonly<Record<string, unknown>>;
}

interface InvocationModel {
  getArguments(): Promise<{ context: unknown; inputs: unknown[] }>;
  invokeFunction(context: unknown, inputs: unknown[], handler: unknown): Promise<unknown>;
  getResponse(context: unknown, result: unknown): Promise<unknown>;
}

interface ProgrammingModel {
  getInvocationModel(core: unknown): InvocationModel;
}

/** What `@azure/functions` expects of the worker's built-in module `@azure/functions-core`. */
class Core {
  readonly functions = new Map<string, { metadata: Metadata; handler: unknown }>();
  readonly hooks = new Map<string, ((context: unknown) => unknown)[]>();
  model: ProgrammingModel | undefined;

  readonly module = {
    setProgrammingModel: (model: ProgrammingModel): void => {
      this.model = model;
    },
    registerFunction: (metadata: Metadata, handler: unknown): void => {
      if (this.functions.has(metadata.name)) throw new Error(`Two functions are called ${metadata.name}`);
      this.functions.set(metadata.name, { metadata, handler });
    },
    registerHook: (name: string, callback: (context: unknown) => unknown): { dispose(): void } => {
      this.hooks.set(name, [...(this.hooks.get(name) ?? []), callback]);
      return { dispose: () => {} };
    },
    log: (): void => {},
  };
}

const SYMBOL = 'millraceTestFunctionsCore';
const core = new Core();
Object.assign(globalThis, { [SYMBOL]: core.module });
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@azure/functions-core'
      ? { url: 'millrace-test:functions-core', format: 'commonjs', shortCircuit: true }
      : next(specifier, context),
  load: (url, context, next) =>
    url === 'millrace-test:functions-core'
      ? { format: 'commonjs', source: `module.exports = globalThis.${SYMBOL};`, shortCircuit: true }
      : next(url, context),
});

export interface FunctionsHost {
  readonly functions: readonly Metadata[];
  /** Delivers a batch as the host does: one JSON array string, dates rewritten. Rejects when the handler does. */
  deliver(name: string, documents: readonly unknown[], retryCount?: number): Promise<void>;
  terminate(): Promise<void>;
}

/** Imports functions/index.ts as the worker would, with these settings; those of the process come back afterwards. */
export async function indexApp(settings: Readonly<Record<string, string>>): Promise<FunctionsHost> {
  core.functions.clear();
  core.hooks.clear();
  vi.resetModules();
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  await import('../../functions/index.ts');
  return {
    functions: [...core.functions.values()].map(({ metadata }) => metadata),
    deliver: async (name, documents, retryCount) => {
      const found = core.functions.get(name);
      const [binding] = Object.keys(found?.metadata.bindings ?? {});
      if (!found || !core.model || binding === undefined) throw new Error(`There is no function ${name}`);
      const text = JSON.stringify(documents.map(rewriteDates));
      const invocation = core.model.getInvocationModel({
        invocationId: 'test',
        metadata: found.metadata,
        request: {
          inputData: [{ name: binding, data: { string: text } }],
          ...(retryCount === undefined ? {} : { retryContext: { retryCount, maxRetryCount: -1 } }),
        },
        log: () => {},
        state: undefined,
      });
      const { context, inputs } = await invocation.getArguments();
      await invocation.getResponse(context, await invocation.invokeFunction(context, inputs, found.handler));
    },
    terminate: async () => {
      for (const hook of core.hooks.get('appTerminate') ?? []) await hook({});
    },
  };
}

const ISO = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,7})?(Z|[+-]\d\d:\d\d)?$/;

/** As Newtonsoft.Json writes a date it has read: zeros at the end of a fraction go, offsets become those of the machine (UTC). */
export function rewriteDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(rewriteDates);
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rewriteDates(member)]));
  if (typeof value !== 'string') return value;
  const [, whole, fraction = '', zone = ''] = ISO.exec(value) ?? [];
  if (whole === undefined) return value;
  const trimmed = fraction.replace(/\.?0+$/, '');
  if (zone === '' || zone === 'Z') return `${whole}${trimmed}${zone}`;
  return `${new Date(value).toISOString().slice(0, 19)}${trimmed}+00:00`;
}
