import { MillraceError, UsageError, messageOf } from '../../base/errors.ts';
import { BadRequest } from './input.ts';

/** An answer of ours: JSON, never stored by anything in between. */
export interface Answer {
  readonly status: number;
  readonly jsonBody: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

export const answer = (status: number, jsonBody: unknown, headers: Readonly<Record<string, string>> = {}): Answer => ({
  status,
  jsonBody,
  headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
});

/** A refusal or failure as an answer: what happened and how to mend it, without a stack or a cause. */
export function failed(error: unknown): Answer {
  if (!(error instanceof MillraceError))
    return answer(500, { error: { code: 'unexpected', message: messageOf(error) } });
  const { code, message, mend } = error;
  return answer(statusOf(error), { error: { code, message, ...(mend === undefined ? {} : { mend }) } });
}

function statusOf(error: MillraceError): number {
  if (error instanceof BadRequest) return error.status;
  if (error.retryable || error.code === 'shutting-down') return 503;
  if (!(error instanceof UsageError)) return 500;
  if (error.code.endsWith('-unknown')) return 404;
  // The app is set up wrongly; the caller can't mend that by asking otherwise.
  if (/^(setting|account|pipeline|model|container|lease-container|storage|source|database)-/.test(error.code))
    return 503;
  return error.code === 'not-confirmed' || error.code.endsWith('-running') || error.code.endsWith('-exists')
    ? 409
    : 400;
}
