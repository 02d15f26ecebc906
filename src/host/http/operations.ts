import { type HttpRequest, type InvocationContext } from '@azure/functions';
import { z } from 'zod';
import { type VerbEffect, type Operation, effectOf, operationName } from '../../verbs/operation.ts';
import type { Registry } from '../../verbs/registry.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { type HttpAnswer, answer, failed } from './answer.ts';
import { record } from './audit.ts';
import {
  type RequestedOperation,
  BadRequest,
  MAX_BODY,
  bodyInput,
  queryInput,
  refuseQuery,
  tooLarge,
} from './input.ts';
import { logScreen } from './log-screen.ts';
import { find, offered } from './offered.ts';
import { type Role, admit } from './roles.ts';

/** Azure's load balancer ends a request after 230 seconds; Millrace answers before that. */
export const MOST_MS = 220_000;

export interface OperationsOptions {
  readonly workspace: Workspace;
  readonly registry: () => Promise<Registry>;
}

/**
 * Runs registered operations for callers over HTTP. `reader` takes GET, for operations that only read, with the input in
 * the query. `operator` takes POST, for every operation, with the input as a JSON body.
 */
export async function serveOperation(
  role: Role,
  request: HttpRequest,
  context: InvocationContext,
  signal: AbortSignal,
  { workspace, registry }: OperationsOptions,
): Promise<HttpAnswer> {
  const began = performance.now();
  let actor = 'nobody';
  let name = '';
  let answered: HttpAnswer;
  try {
    const admission = admit(request.headers, role);
    if (!('actor' in admission)) {
      const { status, ...error } = admission;
      answered = answer(status, { error });
    } else {
      actor = admission.actor;
      const operations = offered(await registry());
      // A noun of a noun takes the first two: `shards/keys/map`.
      const { noun = '', verb = '', more = '' } = request.params;
      const path = [noun, verb, more].filter((word) => word !== '');
      name = path.join(' ');
      if (path.length === 0) refuseQuery('The list of operations', request.query, 'Remove it, or name an operation.');
      answered =
        path.length === 0
          ? answer(200, { operations: operations.map(describe) })
          : await perform(choose(operations, path), request, { role, workspace, actor, signal, context });
    }
  } catch (error) {
    answered = failed(error);
  }
  const { status } = answered;
  context.log(record('http', { role, actor, operation: name, status, ms: Math.round(performance.now() - began) }));
  return answered;
}

function choose(operations: readonly Operation[], path: readonly string[]): Operation {
  const found = find(operations, path);
  if ('operation' in found) return found.operation;
  const near = found.near === undefined ? '' : `: did you mean ${found.near}?`;
  const hint = 'GET the base path to list the operations.';
  throw new BadRequest(404, 'not-found', `There is no operation ${path.join(' ')}${near}`, hint);
}

async function perform(
  operation: Operation,
  request: HttpRequest,
  given: { role: Role; workspace: Workspace; actor: string; signal: AbortSignal; context: InvocationContext },
): Promise<HttpAnswer> {
  const { role, workspace, actor, context } = given;
  const name = operationName(operation);
  const refuseChange = (effect: VerbEffect): void => {
    if (role === 'reader' && effect !== 'reads')
      throw new BadRequest(
        405,
        'input-invalid',
        `${name} changes something`,
        'Send it as POST, with the operator’s key.',
      );
  };
  refuseChange(operation.effect);
  const { input, dryRun, yes } = await askedBy(operation, request);
  const effect = effectOf(operation, input);
  refuseChange(effect);
  const signal = AbortSignal.any([given.signal, AbortSignal.timeout(MOST_MS)]);
  const run = { workspace, actor, signal, screen: logScreen(context) };
  if (dryRun) {
    if (!operation.plan) throw new BadRequest(400, 'input-invalid', `${name} has no dry run`, 'Leave out `dryRun`.');
    return answer(200, { operation: name, plan: await operation.plan(input, run) });
  }
  if (effect === 'destroys' && !yes) {
    const hint = operation.plan
      ? 'Send "dryRun": true to see what it would do, then "yes": true.'
      : 'Send "yes": true to do it.';
    throw new BadRequest(409, 'not-confirmed', `${name} can't be undone`, hint);
  }
  if (effect !== 'reads' && request.headers.get('prefer')?.includes('respond-async')) {
    const job = await (
      await workspace.jobs()
    ).enqueue('operation', { name, input, actor }, { dedupe: dedupeKey(name, input) });
    return answer(202, { operation: name, job }, { 'preference-applied': 'respond-async' });
  }
  const { value, ok } = await operation.run(input, run);
  return answer(200, { operation: name, ok, result: value });
}

const dedupeKey = (name: string, input: unknown): string => `${name} ${JSON.stringify(input)}`;

async function askedBy(operation: Operation, request: HttpRequest): Promise<RequestedOperation> {
  if (request.method === 'GET') return queryInput(operation, request.query);
  refuseQuery(`A POST of ${operationName(operation)}`, request.query, 'Send it in the body, as one JSON object.');
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > MAX_BODY) throw tooLarge(announced);
  return bodyInput(operation, new Uint8Array(await request.arrayBuffer()), request.headers.get('content-type'));
}

const describe = (operation: Operation): unknown => ({
  operation: operationName(operation),
  summary: operation.summary,
  effect: operation.effect,
  method: operation.effect === 'reads' ? 'GET or POST' : 'POST',
  input: z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any' }).properties ?? {},
});
