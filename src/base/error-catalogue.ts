import { type ErrorDetail, MillraceError, UsageError } from './errors.ts';

/** What docs/errors.md says about a code. An error gets the hint and the flags from here, unless the throw passes others. */
export interface ErrorEntry {
  /** What happened, as one sentence. */
  readonly meaning: string;
  /** What the reader can do, as an imperative sentence. */
  readonly hint: string;
  /** True: the same call may succeed later, with the same code and documents. */
  readonly retryable?: boolean;
  /** True: bad input from a person. The user sees one message without a stack; the exit code is 2. */
  readonly usage?: boolean;
}

/** The entry of bad input from a person. */
export const usage = (meaning: string, hint: string) => ({ meaning, hint, usage: true }) as const;

/** The errors of a room, by code. A code stands in the catalogue of one room only. */
export type ErrorCatalogue = Readonly<Record<string, ErrorEntry>>;

type ErrorFor<Entry extends ErrorEntry, Code extends string> = Entry extends { readonly usage: true }
  ? UsageError<Code>
  : MillraceError<Code>;

/**
 * Makes the errors of a room's catalogue. `detail` holds what the catalogue can't know: the cause, or another hint or
 * another `retryable` at this place.
 *
 * @example
 * export const SINK_ERRORS = {
 *   'sink-full': { meaning: 'The logical partition is full.', hint: 'Give the sink a key with more values.' },
 * } as const satisfies ErrorCatalogue;
 * export const sinkError = errorsOf(SINK_ERRORS);
 * throw sinkError('sink-full', `${container} takes no more of ${key}`, { cause });
 */
export const errorsOf =
  <const Entries extends ErrorCatalogue>(entries: Entries) =>
  <Code extends keyof Entries & string>(
    code: Code,
    message: string,
    detail: ErrorDetail = {},
  ): ErrorFor<Entries[Code], Code> => {
    const { usage: isUsage, ...known } = entries[code] as ErrorEntry;
    const Kind = isUsage ? UsageError : MillraceError;
    return new Kind(code, message, { ...known, ...detail }) as ErrorFor<Entries[Code], Code>;
  };
