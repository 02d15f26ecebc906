// What the errors of Azure Storage mean.
import { messageOf } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';

/** The status and the code of an answer; of a lost connection, only a code. */
export function answerOf(error: unknown): { readonly status: number | undefined; readonly code: string } {
  if (!isObject(error) && !(error instanceof Error)) return { status: undefined, code: '' };
  const { statusCode, code, name } = error as { statusCode?: unknown; code?: unknown; name?: unknown };
  return {
    status: typeof statusCode === 'number' ? statusCode : undefined,
    code: typeof code === 'string' ? code : String(name),
  };
}

const CONNECTION = new Set(['REQUEST_SEND_ERROR', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNREFUSED', 'PARSE_ERROR']);

/** No process listens at the address, or there is no such host. */
export const isRefused = (error: unknown): boolean =>
  /ECONNREFUSED|ENOTFOUND|EHOSTUNREACH|ENETUNREACH/.test(messageOf(error));

/** There is no such blob, or a condition of the request failed. */
export const isExpected = (status: number | undefined, code: string): boolean =>
  code === 'BlobNotFound' || code === 'BlobAlreadyExists' || status === 412;

/** Whether a repeated request may succeed. */
export const isTransient = (status: number | undefined, code: string): boolean =>
  status === undefined ? CONNECTION.has(code) : status === 408 || status === 429 || (status >= 500 && status !== 501);
