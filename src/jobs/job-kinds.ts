/** What a job may be asked to do and with what: names and payloads alone. Handlers are bound in `host/run/jobs.ts`. */
export interface JobKinds {
  /** A registered operation by its name, such as `projections rebuild`, run as if it had been typed. */
  readonly operation: {
    readonly name: string;
    readonly input: Readonly<Record<string, unknown>>;
    /** Who asked for it. */
    readonly actor: string;
  };
  /** A reaction that failed as often as it is tried in line: its dead letter is redriven. */
  readonly reaction: {
    /** `name@version`. */
    readonly projection: string;
    /** Of the document. */
    readonly id: string;
  };
}

/** Payloads are stored as JSON and may be read by a later version. */
export type Kinds = { readonly [name: string]: object };

/** What a handler is given beside its payload. */
export interface JobRun {
  readonly id: string;
  /** Counts from 1. */
  readonly attempt: number;
  /** Aborted when the worker stops or its time is up: return or throw soon; the job is then run again, by whoever comes. */
  readonly signal: AbortSignal;
  /** Shown by `jobs list`; `of` absent: not known. */
  readonly progress: (done: number, of?: number) => void;
}

/** Must be resumable: unless its job has one attempt, it is run again after a crash, and may once in a while run twice at once. */
export type Handler<P> = (payload: P, run: JobRun) => Promise<unknown>;
export type Handlers<K extends object> = { readonly [N in keyof K]?: Handler<K[N]> };
