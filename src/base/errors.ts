import { withoutSecrets } from './secrets.ts';

/** What every error of Millrace says: a literal code, whether trying again can help, and how to mend it. */
export interface ErrorDetail {
  readonly cause?: unknown;
  /** True where the same call may succeed later without anyone changing anything. */
  readonly retryable?: boolean;
  /** What the reader can do about it, as one sentence. */
  readonly mend?: string;
}

/** The one error base. `code` is a literal of the room that throws it, for example `lease-lost` or `sink-refused`. */
export class MillraceError<Code extends string = string> extends Error {
  override readonly name: string = 'MillraceError';
  readonly code: Code;
  readonly retryable: boolean;
  readonly mend: string | undefined;

  constructor(code: Code, message: string, detail: ErrorDetail = {}) {
    // An address in it may hold a password: errors are printed, logged and answered.
    super(withoutSecrets(message), detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.retryable = detail.retryable ?? false;
    this.mend = detail.mend;
  }
}

/** Bad input from a person (a setting, a flag, a file): shown as one message without a stack, exit code 2. */
export class UsageError extends MillraceError {
  override readonly name = 'UsageError';
}

/** Some clients give an error a code and no message. */
const wordless = (error: Error): string => ('code' in error ? String(error.code) : error.name);

/** What an error says, of whatever library, without what signs somebody in. */
export const messageOf = (error: unknown): string =>
  withoutSecrets(error instanceof Error ? error.message || wordless(error) : String(error));

/** An aborted signal's reason as an Error, whatever was passed to `abort()`. */
export const abortReason = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new MillraceError('aborted', 'The operation was aborted');
