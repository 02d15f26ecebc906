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
  /** Milliseconds since 1970. Default: now. */
  readonly startedAt?: number;
}

/** Work that has ended. For work of which only the outcome shows whether it is worth a span; its requests have none. */
export interface EndedSpan extends SpanOptions {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly failure?: { readonly error: unknown } | undefined;
}

export interface Span {
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed. An error that `work` throws does this by itself. */
  fail(errorType: string): void;
}

/** A span that its maker ends, because it lasts longer than one call. */
export interface OpenSpan extends Span {
  /** Does the work with the span around it. */
  around<T>(work: () => T): T;
  end(): void;
}

/** What records spans. */
export interface Tracing {
  /** Whether something takes spans. Asked before anything of a span is built, so that a host without an SDK pays a look. */
  on(): boolean;
  within<T>(options: SpanOptions, work: (span: Span) => Promise<T>): Promise<T>;
  open(options: SpanOptions): OpenSpan;
  ended(span: EndedSpan): SpanCarrier | undefined;
  /** The span that is around this call, the same object each time; undefined: there is none, or it isn't recorded. */
  recorded(): object | undefined;
  carrier(): SpanCarrier | undefined;
}

const NOT_RECORDED: OpenSpan = {
  set: () => undefined,
  fail: () => undefined,
  around: (work) => work(),
  end: () => undefined,
};

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

/** The recorded span that is around this call, to know it again; undefined: there is none. */
export const recordedSpan = (): object | undefined => recorder()?.recorded();

/** As `inSpan`, if a span that is recorded is around this call. */
export function inChildSpan<T>(options: () => SpanOptions, work: (span: Span) => Promise<T>): Promise<T> {
  return recordedSpan() ? inSpan(options, work) : work(NOT_RECORDED);
}

/** Begins a span that the caller ends. */
export const openSpan = (options: SpanOptions): OpenSpan => recorder()?.open(options) ?? NOT_RECORDED;

/** Makes a span of work that has ended. Without an SDK `span` isn't called. */
export const endedSpan = (span: () => EndedSpan): SpanCarrier | undefined => recorder()?.ended(span());

/** The context of the span that is around this call; undefined: there is none. */
export const spanCarrier = (): SpanCarrier | undefined => recorder()?.carrier();
