/** The kinds of jobs and their payloads. `host/run/jobs.ts` binds the handlers. */
export interface JobKinds {
  /** Runs a registered operation by its name, such as `projections rebuild`, like a call from the command line. */
  readonly operation: {
    readonly name: string;
    readonly input: Readonly<Record<string, unknown>>;
    /** The person who requested it. */
    readonly actor: string;
  };
  /** Redrives the dead letter of a reaction that failed on all attempts while its page waited. */
  readonly reaction: {
    /** `name@version`. */
    readonly projection: string;
    /** Id of the document. */
    readonly id: string;
    /** Its full partition key. */
    readonly key: readonly unknown[];
    /** Name of the shard whose hosts have parked it. Absent: it is in the place of the settings. */
    readonly shard?: string;
  };
}

/** Payloads are stored as JSON, and a later version of Millrace may read them. */
export type Kinds = { readonly [name: string]: object };

/** What a handler gets beside its payload. */
export interface JobRun {
  readonly id: string;
  /** When it was enqueued, wall clock. */
  readonly askedAt: number;
  /** Counts from 1. */
  readonly attempt: number;
  /** Aborted when the worker stops or its time is up: return or throw soon. The next worker runs the job again. */
  readonly signal: AbortSignal;
  /** `jobs list` shows it. `of` absent: the total is unknown. */
  readonly progress: (done: number, of?: number) => void;
}

/**
 * Must be resumable: unless its job has one attempt, it runs again after a crash. Two runs of one job may sometimes happen
 * at the same time.
 */
export type Handler<P> = (payload: P, run: JobRun) => Promise<unknown>;
export type Handlers<K extends object> = { readonly [N in keyof K]?: Handler<K[N]> };
