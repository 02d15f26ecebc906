import { exactParse } from './exact-json.ts';
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { MillraceError } from '../../../base/errors.ts';
import { EMULATOR_ERRORS } from '../../errors.ts';

export type WireDoc = Record<string, unknown>;

/** One request before routing: decoded path segments and the original body. */
export interface WireCall {
  readonly method: string;
  readonly segments: readonly string[];
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The signed text instead of the link, if the call used resource ids. */
  readonly signedFor?: string;
}

/** One answer. Its body is JSON, as text or as bytes. Header values are ASCII. */
export interface Reply {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text?: string;
  readonly bytes?: Buffer;
}

const CODES: Record<number, string> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  408: 'RequestTimeout',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'RequestEntityTooLarge',
  421: 'MisdirectedRequest',
  424: 'FailedDependency',
  429: 'TooManyRequests',
  449: 'RetryWith',
  500: 'InternalServerError',
  501: 'NotImplemented',
  503: 'ServiceUnavailable',
};

/** An error answer: a status, the service's sub-status, and the service's text, for which people search. */
export class WireError extends MillraceError<'emulator-answer'> {
  readonly status: number;
  readonly substatus: number;
  readonly headers: Record<string, string> = {};
  /** Further fields of the body. On query errors they make the client use its own query plan, so most errors have none. */
  readonly extra: WireDoc | undefined;

  constructor(status: number, message: string, substatus = 0, extra?: WireDoc) {
    super('emulator-answer', message, EMULATOR_ERRORS['emulator-answer']);
    this.status = status;
    this.substatus = substatus;
    this.extra = extra;
  }

  reply(): Reply {
    const headers = { ...this.headers };
    if (this.substatus) headers['x-ms-substatus'] = String(this.substatus);
    const body = { code: CODES[this.status] ?? String(this.status), message: this.message, ...this.extra };
    return { status: this.status, headers, text: JSON.stringify(body) };
  }
}

export const badRequest = (message: string, substatus = 0): WireError => new WireError(400, message, substatus);
export const notFound = (what = 'Entity'): WireError =>
  new WireError(
    404,
    `${what} with the specified id does not exist in the system. Resource Not Found. Learn more: https://aka.ms/cosmosdb-tsg-not-found`,
  );
export const conflict = (): WireError =>
  new WireError(
    409,
    'Entity with the specified id already exists in the system. Resource with specified id or name already exists.',
  );
export const preconditionFailed = (): WireError =>
  new WireError(412, 'Operation cannot be performed because one of the specified precondition is not met.');
export const notAllowed = ({ method }: WireCall): WireError =>
  new WireError(405, `The method ${method} is not allowed here.`);
export const wireTooLarge = (): WireError =>
  new WireError(413, 'Message: {"Errors":["Request size is too large"]}\r\n');

export function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value.join(',') : value;
}

export const flag = (headers: IncomingHttpHeaders, name: string): boolean =>
  header(headers, name)?.toLowerCase() === 'true';

/** Parses the body as one JSON object; throws WireError 400 for anything else. */
export function parseObject(body: Buffer): WireDoc {
  const value = parseJson(bodyText(body));
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw badRequest('The request body must be a JSON object. One of the input values is invalid.');
  }
  return value as WireDoc;
}

/** The service's 128 levels of a document, and the levels of a batch or a query around it. */
const MAX_DEPTH = 132;

export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = exactParse(text);
  } catch (error) {
    throw badRequest(`The input content is invalid because it is not well-formed JSON: ${(error as Error).message}`);
  }
  check(value, MAX_DEPTH);
  return value;
}

/** Refuses values that can't be stored unchanged: too many levels, and numbers too large for a double. */
function check(value: unknown, levels: number): void {
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw badRequest('The input content is invalid: a number is too large for a double.');
  } else if (typeof value === 'object' && value !== null) {
    if (levels === 0) throw badRequest('The input content is invalid because it is nested deeper than 128 levels.');
    for (const inner of Array.isArray(value) ? (value as unknown[]) : Object.values(value)) check(inner, levels - 1);
  }
}

/** A body as text. Refuses bytes that aren't UTF-8, which decoding would change silently. */
export function bodyText(body: Buffer): string {
  if (!isUtf8(body)) throw badRequest('The input content is invalid because it is not UTF-8.');
  return body.toString('utf8');
}
