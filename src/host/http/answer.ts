import { MillraceError, UsageError, messageOf } from '../../base/errors.ts';
import { BadRequest } from './input.ts';

/** An HTTP answer of Millrace: JSON, which no cache may store. */
export interface HttpAnswer {
  readonly status: number;
  readonly jsonBody: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

export const answer = (
  status: number,
  jsonBody: unknown,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer => ({
  status,
  jsonBody,
  headers: { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headers },
});

/** An error as an answer: its code, message and hint, without a stack or a cause. */
export function failed(error: unknown): HttpAnswer {
  if (!(error instanceof MillraceError))
    return answer(500, { error: { code: 'unexpected', message: messageOf(error) } });
  const { code, message, hint } = error;
  return answer(statusOf(error), { error: { code, message, ...(hint === undefined ? {} : { hint }) } });
}

const MISCONFIGURED =
  /^(missing|unreadable|unloadable|unreachable|denied)$|^(setting|account|pipeline|model|container|lease-container|storage)-/;

function statusOf(error: MillraceError): number {
  if (error instanceof BadRequest) return error.status;
  if (error.retryable || error.code === 'shutting-down') return 503;
  if (!(error instanceof UsageError)) return 500;
  if (error.code === 'not-found') return 404;
  // The app is configured wrongly; the caller can't correct that in the request.
  if (MISCONFIGURED.test(error.code)) return 503;
  return ['exists', 'not-confirmed'].includes(error.code) ? 409 : 400;
}
