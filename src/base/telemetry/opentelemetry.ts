// Gives spans to OpenTelemetry, through its API alone: the SDK is the user's.
import { createRequire } from 'node:module';
import type * as OpenTelemetry from '@opentelemetry/api';
import type { Context, Span as ApiSpan, SpanContext, TracerProvider } from '@opentelemetry/api';
import { MillraceError } from '../errors.ts';
import {
  type EndedSpan,
  type OpenSpan,
  type Span,
  type SpanCarrier,
  type SpanOptions,
  type Tracing,
  recordSpans,
} from './spans.ts';

export type Api = typeof OpenTelemetry;

/** The name of Millrace's meter and tracer. */
export const SCOPE = 'millrace';

/** Loaded when it is needed: reading a feed needs nothing but the client. */
export const loadApi = (): Api => createRequire(import.meta.url)('@opentelemetry/api') as Api;

/** Where the API keeps what was registered, in every copy of its version 1. */
const REGISTERED = Symbol.for('opentelemetry.js.api.1');

/** Whether an SDK has registered itself for traces. Loads nothing. */
export const traced = (): boolean =>
  (globalThis as { [REGISTERED]?: { readonly trace?: unknown } })[REGISTERED]?.trace !== undefined;

/**
 * Records the spans of this process by `provider`; default: the globally registered one, now or later. The returned
 * function ends that.
 */
export function startTracing(provider?: TracerProvider): () => void {
  return recordSpans(tracingBy(loadApi(), provider));
}

function tracingBy(
  { ROOT_CONTEXT, SpanKind, SpanStatusCode, context, trace }: Api,
  provider: TracerProvider | undefined,
): Tracing {
  const tracer = (provider ?? trace).getTracer(SCOPE);
  const kinds = { client: SpanKind.CLIENT, producer: SpanKind.PRODUCER, consumer: SpanKind.CONSUMER };
  const start = ({ name, kind, attributes, root, link, after, startedAt }: SpanOptions): ApiSpan => {
    const from = link && linked(link);
    const parent = after && linked(after);
    return tracer.startSpan(
      name,
      {
        kind: kind ? kinds[kind] : SpanKind.INTERNAL,
        attributes,
        root: root === true && !parent,
        ...(from && { links: [{ context: from }] }),
        ...(startedAt !== undefined && { startTime: new Date(startedAt) }),
      },
      parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: false }) : context.active(),
    );
  };
  // The message of an error may hold a key or a value; its code doesn't.
  const failed = (span: ApiSpan, errorType: string): void => {
    span.setStatus({ code: SpanStatusCode.ERROR });
    span.setAttribute('error.type', errorType);
  };
  const carrierOf = (span: ApiSpan | undefined): SpanCarrier | undefined => {
    const of = span?.spanContext();
    return of && trace.isSpanContextValid(of) ? carried(of) : undefined;
  };
  const open = (options: SpanOptions): OpenSpan => {
    const span = start(options);
    const inside: Context = trace.setSpan(context.active(), span);
    return {
      set: (attributes) => void span.setAttributes(attributes),
      fail: (type) => failed(span, type),
      around: (work) => context.with(inside, work),
      end: () => span.end(),
    };
  };
  const within = async <T>(options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T> => {
    const span = open(options);
    try {
      return await span.around(() => work(span));
    } catch (error) {
      span.fail(errorTypeOf(error));
      throw error;
    } finally {
      span.end();
    }
  };
  const ended = ({ endedAt, failure, ...options }: EndedSpan): SpanCarrier | undefined => {
    const span = start(options);
    if (failure) failed(span, errorTypeOf(failure.error));
    span.end(new Date(endedAt));
    return carrierOf(span);
  };
  const recorded = (): ApiSpan | undefined => {
    const span = trace.getActiveSpan();
    return span?.isRecording() === true ? span : undefined;
  };
  return {
    on: provider ? () => true : traced,
    within,
    open,
    ended,
    recorded,
    carrier: () => carrierOf(trace.getActiveSpan()),
  };
}

const carried = ({ traceId, spanId, traceFlags, traceState }: SpanContext): SpanCarrier => ({
  traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
  ...(traceState && { tracestate: traceState.serialize() }),
});

/** undefined: the text isn't of version 00, so another version of Millrace stored it. */
function linked({ traceparent }: SpanCarrier): SpanContext | undefined {
  const [, traceId = '', spanId = '', flags = ''] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent) ?? [];
  return traceId === '' ? undefined : { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
}

/** One of few values, as metrics and traces need. */
export const errorTypeOf = (error: unknown): string => {
  if (error instanceof MillraceError) return error.code;
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error && typeof error.code === 'number' ? String(error.code) : error.name;
};
