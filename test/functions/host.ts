// The function app under test, indexed as the worker does it, with batches delivered as the host does it.
import { vi } from 'vitest';
import { type FunctionMetadata, type HttpData, installCore } from '../../src/host/local-host/core.ts';
import { invocationOf } from '../../src/host/local-host/event-hub-data.ts';
import { rewriteDates } from '../../src/host/local-host/host-json.ts';

const core = installCore();

export interface FunctionsHost {
  readonly functions: readonly FunctionMetadata[];
  /** What the functions have logged so far: `level: text`. */
  readonly logged: readonly string[];
  /**
   * Delivers a batch as the host does: one JSON array string, dates rewritten unless it says otherwise. Rejects when the
   * handler does.
   */
  deliver(
    name: string,
    documents: readonly unknown[],
    options?: { retryCount?: number; rewrite?: boolean },
  ): Promise<void>;
  /** Delivers the events of a partition as the Event Hubs trigger does: bodies as bytes, the rest as one list a property. */
  deliverEvents(name: string, partition: string, bodies: readonly (object | string)[], from?: number): Promise<void>;
  /** Sends a request to an HTTP function; keys are the host's to ask for. */
  request(name: string, request?: Partial<HttpData>): Promise<{ status: number; body: unknown }>;
  /** The same, with the answer's headers and its body as text. */
  answer(
    name: string,
    request?: Partial<HttpData>,
  ): Promise<{ status: number; headers: Readonly<Record<string, string>>; text: string }>;
  fire(name: string): Promise<void>;
  terminate(): Promise<void>;
}

/**
 * Imports functions/index.ts as the worker would, with these settings; those of the process come back afterwards.
 * `beside`: leaves the apps that were indexed before, and tells its own functions from theirs by this name. They must
 * have read their settings by then.
 */
export async function indexApp(settings: Readonly<Record<string, string>>, beside?: string): Promise<FunctionsHost> {
  if (beside === undefined) core.clear();
  vi.resetModules();
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value);
  const own = (name: string): string => (beside === undefined ? name : `${beside}/${name}`);
  const { registerFunction } = core.module;
  const before = core.functions.length;
  core.module.registerFunction = (metadata, handler) =>
    registerFunction({ ...metadata, name: own(metadata.name) }, handler);
  try {
    await import('../../functions/index.ts');
  } finally {
    core.module.registerFunction = registerFunction;
  }
  const functions = core.functions.slice(before).map((of) => ({ ...of, name: of.name.slice(own('').length) }));
  const logged: string[] = [];
  const log = (level: string, text: string): void => void logged.push(`${level}: ${text}`);
  const answer: FunctionsHost['answer'] = async (name, request = {}) => {
    const http = { method: 'GET', url: 'http://localhost/api', headers: {}, query: {}, params: {}, ...request };
    const { statusCode, headers, body } = (await core.invoke(own(name), { data: { http }, log }))?.http ?? {};
    return { status: Number(statusCode), headers: headers ?? {}, text: Buffer.from(body?.bytes ?? []).toString() };
  };
  return {
    functions,
    logged,
    deliver: async (name, documents, { retryCount, rewrite = true } = {}) => {
      const string = JSON.stringify(rewrite ? documents.map(rewriteDates) : documents);
      await core.invoke(own(name), { data: { string }, retryCount, log });
    },
    deliverEvents: async (name, partition, bodies, from = 0) => {
      const events = bodies.map((body, index) => ({
        body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
        sequenceNumber: from + index,
        offset: String(100 * (from + index)),
        enqueuedTimeUtc: new Date('2026-11-01T06:00:00.123Z'),
      }));
      const place = { hub: 'any', consumerGroup: '$Default', partition };
      await core.invoke(own(name), {
        ...invocationOf(events, { cardinality: 'many', dataType: 'binary' }, place),
        log,
      });
    },
    answer,
    request: async (name, request) => {
      const { status, text } = await answer(name, request);
      return { status, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
    },
    fire: async (name) => {
      await core.invoke(own(name), { data: { json: JSON.stringify({ IsPastDue: false }) }, log });
    },
    terminate: () => core.terminate(),
  };
}
