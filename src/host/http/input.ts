import { z } from 'zod';
import { UsageError } from '../../base/errors.ts';
import { isObject } from '../../base/json.ts';
import { near } from '../../base/near.ts';
import { type Operation, operationName } from '../../operations/operation.ts';

/** Bytes of a body; an operation's input is some names and numbers. */
export const MAX_BODY = 64 * 1024;

/** What a request asks beside the operation's own input. */
export interface Asked {
  readonly input: Readonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  readonly yes: boolean;
}

/** A refusal with its HTTP status. */
export class BadRequest extends UsageError {
  readonly status: number;
  constructor(status: number, code: string, message: string, mend: string) {
    super(code, message, { mend });
    this.status = status;
  }
}

/**
 * The body of a POST: one JSON object with the operation's input, and `dryRun` and `yes` as on the command line.
 * @throws BadRequest 400, 413, 415
 */
export function bodyInput(operation: Operation, bytes: Uint8Array, type: string | null): Asked {
  if (bytes.length > MAX_BODY) throw tooLarge(bytes.length);
  if (bytes.length === 0) return asked(operation, {});
  if (type !== null && !/^application\/([\w.-]+\+)?json\b/i.test(type))
    throw new BadRequest(415, 'body-type', `A body of type ${type} is not understood`, 'Send application/json.');
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new BadRequest(400, 'body-malformed', 'The body is no JSON', 'Send one JSON object, in UTF-8.');
  }
  if (!isObject(body)) throw new BadRequest(400, 'body-malformed', 'The body is no JSON object', 'Send { … }.');
  return asked(operation, body);
}

export const tooLarge = (bytes: number): BadRequest =>
  new BadRequest(
    413,
    'body-too-large',
    `The body has ${bytes.toLocaleString('en-US')} bytes, more than ${MAX_BODY.toLocaleString('en-US')}`,
    'Give the input alone; data is loaded into containers, not posted here.',
  );

/**
 * The query of a GET, its texts turned into what the operation's schema has there.
 * @throws BadRequest 400
 */
export function queryInput(operation: Operation, query: URLSearchParams): Asked {
  const types = fieldTypes(operation);
  const body: Record<string, unknown> = {};
  for (const [field, text] of parametersOf(query)) {
    body[field] = coerce(text, types.get(field));
  }
  return asked(operation, body);
}

/**
 * Where nothing is taken from the query: a `dryRun` that was given there would be passed over, and done for good.
 * @throws BadRequest 400
 */
export function refuseQuery(what: string, query: URLSearchParams, mend: string): void {
  const [first] = parametersOf(query);
  if (first)
    throw new BadRequest(400, 'query-unknown', `${what} takes nothing from the query, and there is ${first[0]}`, mend);
}

/** The host takes its key so, which is no input. */
const parametersOf = (query: URLSearchParams): [string, string][] =>
  [...query].filter(([field]) => field !== 'code' && field !== 'clientId');

function asked(operation: Operation, { dryRun = false, yes = false, ...input }: Record<string, unknown>): Asked {
  const known = [...fieldTypes(operation).keys()];
  const unknown = Object.keys(input).find((field) => !known.includes(field));
  if (unknown !== undefined) {
    const best = near(unknown, [...known, 'dryRun', 'yes']);
    const hint = best === undefined ? '' : `: did you mean ${best}?`;
    const mend = known.length === 0 ? 'It takes none.' : `It takes: ${known.join(', ')}.`;
    throw new BadRequest(400, 'field-unknown', `${operationName(operation)} has no field ${unknown}${hint}`, mend);
  }
  return { input, dryRun: flag('dryRun', dryRun), yes: flag('yes', yes) };
}

function flag(name: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  if (value === 'true' || value === 'false') return value === 'true';
  throw new BadRequest(400, 'input-invalid', `${name} is neither true nor false`, 'Give one of the two.');
}

function coerce(text: string, type: string | undefined): unknown {
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  // What is no number stays text, so that the schema's message names the field.
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
