import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, type ContextManager, ROOT_CONTEXT, context, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { onTestFinished } from 'vitest';

/** As the Node SDK of OpenTelemetry registers one. */
export function keepContexts(): void {
  const store = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => store.getStore() ?? ROOT_CONTEXT,
    with: (of, work, self, ...given) => store.run(of, () => work.call(self as never, ...given)),
    bind: (_of, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  context.setGlobalContextManager(manager);
}

export interface Recorded {
  /** The spans that have ended. */
  readonly all: () => readonly ReadableSpan[];
  readonly named: (name: string) => readonly ReadableSpan[];
  readonly under: (span: ReadableSpan) => readonly ReadableSpan[];
}

/** Registers an SDK for traces, as `--import` does, until the test ends. */
export function recordedSpans(sampler?: Sampler): Recorded {
  const exporter = new InMemorySpanExporter();
  keepContexts();
  trace.setGlobalTracerProvider(
    new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)], ...(sampler && { sampler }) }),
  );
  onTestFinished(() => {
    trace.disable();
    context.disable();
  });
  const all = () => exporter.getFinishedSpans();
  return {
    all,
    named: (name) => all().filter((span) => span.name === name),
    under: (of) => all().filter((span) => span.parentSpanContext?.spanId === of.spanContext().spanId),
  };
}
