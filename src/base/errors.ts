import { withoutSecrets } from './secrets.ts';

/** What an error of Millrace has beside its code and its message. */
export interface ErrorDetail {
  readonly cause?: unknown;
  /** True: the same call may succeed later, with the same code and documents. */
  readonly retryable?: boolean;
  /** What the reader can do, as one or two short sentences. */
  readonly hint?: string;
}

/** The base class of all errors. `code` stands in the catalogue of a room; docs/errors.md lists all codes. */
export class MillraceError<Code extends string = string> extends Error {
  override readonly name: string = 'MillraceError';
  readonly code: Code;
  readonly retryable: boolean;
  readonly hint: string | undefined;

  constructor(code: Code, message: string, detail: ErrorDetail = {}) {
    // An address in the message may hold a password, and errors are printed, logged and sent to clients.
    super(withoutSecrets(message), detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.retryable = detail.retryable ?? false;
    this.hint = detail.hint;
  }

  /** Makes an error of this class from one that another layer, thread or process reported. */
  static from<Kind extends new (code: string, message: string, detail: ErrorDetail) => MillraceError>(
    this: Kind,
    { code, message, hint }: ReportedError,
    detail: ErrorDetail = {},
  ): InstanceType<Kind> {
    return new this(code, message, { ...(hint !== undefined && { hint }), ...detail }) as InstanceType<Kind>;
  }
}

/** The part of an error that a thread, process or layer passes to another one. */
export interface ReportedError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
}

/** Bad input from a person (a setting, a flag, a file). The user sees one message without a stack; the exit code is 2. */
export class UsageError<Code extends string = string> extends MillraceError<Code> {
  override readonly name = 'UsageError';
}

/** For errors of clients that set a code and no message. */
const wordless = (error: Error): string => ('code' in error ? String(error.code) : error.name);

/** The message of any library's error, without secrets. */
export const messageOf = (error: unknown): string =>
  withoutSecrets(error instanceof Error ? error.message || wordless(error) : String(error));

/** The reason of an aborted signal, always as an Error. */
export const abortReason = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new MillraceError('aborted', 'The operation was aborted');
