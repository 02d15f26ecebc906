// Spans as the rooms make them. This file knows no library: `startTracing` of opentelemetry.ts, once called, gives them to one.

/** Never content of a document, and never a key. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** The context of a span as W3C writes it, to be stored with work that another process does later. */
export interface SpanCarrier {
  readonly traceparent: string;
  readonly tracestate?: string;
}

export interface SpanOptions {
  /** One of few. */
  readonly name: string;
  readonly kind?: 'client' | 'producer' | 'consumer';
  readonly attributes: SpanAttributes;
  /** True: the span begins a trace, even if it is made within another span. */
  readonly root?: true;
  /** The span that asked for this work. */
  readonly link?: SpanCarrier | undefined;
  /** The ended span that this work follows: the span is its child, whatever is around the call. */
  readonly after?: SpanCarrier | undefined;
}

/** Work that has ended. For work of which only the outcome shows whether it is worth a span; its requests have none. */
export interface EndedSpan extends SpanOptions {
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly failure?: { readonly error: unknown } | undefined;
}

export interface Span {
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed. An error that `work` throws does this by itself. */
  fail(errorType: string): void;
}

/** What records spans. */
export interface Tracing {
  /** Whether something takes spans. Asked before anything of a span is built, so that a host without an SDK pays a look. */
  on(): boolean;
  within<T>(options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  ended(span: EndedSpan): SpanCarrier | undefined;
  /** Whether the span that is around this call is recorded. */
  recording(): boolean;
  carrier(): SpanCarrier | undefined;
}

const NOT_RECORDED: Span = { set: () => undefined, fail: () => undefined };

let tracing: Tracing | undefined;

/** Records the spans of this process from now on. The returned function ends that. */
export function recordSpans(by: Tracing): () => void {
  const before = tracing;
  tracing = by;
  return () => {
    if (tracing === by) tracing = before;
  };
}

const recorder = (): Tracing | undefined => (tracing?.on() === true ? tracing : undefined);

/** Does the work in a span. Spans that it makes are children of this one. Without an SDK `options` isn't called. */
export function inSpan<T>(options: () => SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  return recorder()?.within(options(), work) ?? work(NOT_RECORDED);
}

/** Whether a span that is recorded is around this call. */
export const isRecording = (): boolean => recorder()?.recording() === true;

/** As `inSpan`, if a span that is recorded is around this call. */
export function inChildSpan<T>(options: () => SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  return isRecording() ? inSpan(options, work) : work(NOT_RECORDED);
}

/** Makes a span of work that has ended. Without an SDK `span` isn't called. */
export const endedSpan = (span: () => EndedSpan): SpanCarrier | undefined => recorder()?.ended(span());

/** The context of the span that is around this call; undefined: there is none. */
export const spanCarrier = (): SpanCarrier | undefined => recorder()?.carrier();
