import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { near } from '../../base/near.ts';
import { type Operation, operationName } from '../../verbs/operation.ts';

/** Most bytes of a body; an operation's input is some names and numbers. */
export const MAX_BODY = 64 * 1024;

const SEND_OBJECT = 'Send one JSON object, in UTF-8.';

/** The operation's input, and the flags of the request. */
export interface RequestedOperation {
  readonly input: Readonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

type RequestErrorCode = 'input-invalid' | 'not-confirmed' | 'not-found';

/** A refused request, with its HTTP status. The hints of the catalogues are for the command line. */
export class BadRequest extends UsageError<RequestErrorCode> {
  readonly status: number;
  constructor(status: number, code: RequestErrorCode, message: string, hint: string) {
    super(code, message, { hint });
    this.status = status;
  }
}

/**
 * The body of a POST: one JSON object with the operation's input, and `dryRun` and `yes` as on the command line.
 * @throws BadRequest 400, 413, 415
 */
export function bodyInput(operation: Operation, bytes: Uint8Array, type: string | null): RequestedOperation {
  if (bytes.length > MAX_BODY) throw tooLarge(bytes.length);
  if (bytes.length === 0) return asked(operation, {});
  if (type !== null && !/^application\/([\w.-]+\+)?json\b/i.test(type))
    throw new BadRequest(
      415,
      'input-invalid',
      `The body has the type ${type}, not application/json`,
      'Send `content-type: application/json`.',
    );
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new BadRequest(400, 'input-invalid', 'The body is not JSON', SEND_OBJECT);
  }
  if (!isObject(body)) throw new BadRequest(400, 'input-invalid', 'The body is JSON, but not an object', SEND_OBJECT);
  return asked(operation, body);
}

export const tooLarge = (bytes: number): BadRequest =>
  new BadRequest(
    413,
    'input-invalid',
    `The body has ${bytes.toLocaleString('en-US')} bytes, more than ${MAX_BODY.toLocaleString('en-US')}`,
    'Send only the operation’s input. Write data into containers instead.',
  );

/**
 * The query of a GET, with its texts converted to the types of the operation's schema.
 * @throws BadRequest 400
 */
export function queryInput(operation: Operation, query: URLSearchParams): RequestedOperation {
  const types = fieldTypes(operation);
  const body: Record<string, unknown> = {};
  for (const [field, text] of parametersOf(query)) {
    body[field] = coerce(text, types.get(field));
  }
  return asked(operation, body);
}

/**
 * Refuses a query where it would be ignored: with an ignored `dryRun` the operation would change something.
 * @throws BadRequest 400
 */
export function refuseQuery(what: string, query: URLSearchParams, hint: string): void {
  const [first] = parametersOf(query);
  if (first)
    throw new BadRequest(400, 'input-invalid', `${what} takes no query parameter, and the query has ${first[0]}`, hint);
}

/** Without the key of the Functions host, which is not input. */
const parametersOf = (query: URLSearchParams): [string, string][] =>
  [...query].filter(([field]) => field !== 'code' && field !== 'clientId');

function asked(
  operation: Operation,
  { dryRun = false, yes = false, ...input }: Record<string, unknown>,
): RequestedOperation {
  const known = [...fieldTypes(operation).keys()];
  const unknown = Object.keys(input).find((field) => !known.includes(field));
  if (unknown !== undefined) {
    const best = near(unknown, [...known, 'dryRun', 'yes']);
    const meant = best === undefined ? '' : `: did you mean ${best}?`;
    const hint = known.length === 0 ? 'Remove it: the operation has no fields.' : `Name one of: ${known.join(', ')}.`;
    throw new BadRequest(400, 'input-invalid', `${operationName(operation)} has no field ${unknown}${meant}`, hint);
  }
  return { input, dryRun: flag('dryRun', dryRun), yes: flag('yes', yes) };
}

function flag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new BadRequest(400, 'input-invalid', `${name} is neither true nor false`, 'Send true or false.');
}

function coerce(text: string, type: string | undefined): unknown {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  // A value that is not a number stays text, so that the schema's message names the field.
  if (type === 'number' || type === 'integer')
    return text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text);
  return text;
}

function fieldTypes(operation: Operation): Map<string, string | undefined> {
  const { properties = {} } = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' });
  return new Map(
    Object.entries(properties).map(([field, of]) => [field, typeof of === 'object' ? (of.type as string) : undefined]),
  );
}
