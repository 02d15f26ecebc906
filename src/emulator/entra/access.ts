import { z } from 'zod';
import { requestKindOf } from '../cosmos/wire/kind.ts';
import { header, parseJson, bodyText, WireError } from '../cosmos/wire/wire.ts';
import type { WireCall } from '../cosmos/wire/wire.ts';
import { sharedError } from '../../base/shared-errors.ts';

// Role-based access to the data plane, with the service's two built-in roles. No role of the data plane may manage
// resources or their throughput ("Data plane role-based access control").

/** The tenant of every token, the first part of the issuer's paths. Databases are under `dbs`, so it is no database's name. */
export const TENANT = 'a1e2c3d4-6d69-4c6c-9261-636500000001';

/** The service's `Cosmos DB Built-in Data Reader` and `Cosmos DB Built-in Data Contributor`. */
export type EntraRole = 'reader' | 'contributor';

export interface Assignment {
  readonly role: EntraRole;
  /** `database` or `database/container`; absent: the account. */
  readonly scope?: string;
}

/** The principals by name, and what each may do. A role alone is for the whole account. */
export type Principals = Readonly<Record<string, EntraRole | readonly Assignment[]>>;

export interface Principal {
  readonly name: string;
  /** The object id that messages name. */
  readonly id: string;
  readonly assignments: readonly Assignment[];
}

const role = z.enum(['reader', 'contributor']);
const principals = z.record(
  z.string().regex(/^[\w.-]+$/, 'a name has only letters, digits, ., - and _'),
  z.union([
    role,
    z.array(
      z.strictObject({
        role,
        scope: z
          .string()
          .regex(/^[^/]+(?:\/[^/]+)?$/)
          .optional(),
      }),
    ),
  ]),
);

/** @throws UsageError `option-invalid` */
export function checkPrincipals(given: Principals): void {
  const { success, error } = principals.safeParse(given);
  if (success) return;
  throw sharedError('option-invalid', `These principals are not valid: ${z.prettifyError(error)}`, {
    hint: 'Give each a role, `reader` or `contributor`, or an array such as `[{ role: "reader", scope: "shop/orders" }]`.',
  });
}

const PREFIX = 'Microsoft.DocumentDB/databaseAccounts/';
const METADATA = 'readMetadata';
const CONTAINERS = 'sqlDatabases/containers/';
const READS: readonly string[] = [
  METADATA,
  `${CONTAINERS}executeQuery`,
  `${CONTAINERS}readChangeFeed`,
  `${CONTAINERS}items/read`,
];

const ACTIONS: Readonly<Record<string, string>> = {
  query: 'executeQuery',
  'query-plan': 'executeQuery',
  'read-feed': 'executeQuery',
  'change-feed': 'readChangeFeed',
  read: 'items/read',
  create: 'items/create',
  upsert: 'items/upsert',
  replace: 'items/replace',
  patch: 'items/replace',
  delete: 'items/delete',
  'partitionkeydelete.post': 'items/delete',
};

/** @throws WireError 403/5300 if no role can allow the call, 403/5301 if none of the principal's roles allows it */
export function permit(principal: Principal, call: WireCall): void {
  const { segments } = call;
  // Every principal with a role may read the account: the client does this first.
  if (segments.length === 0 && principal.assignments.length > 0) return;
  const scope = [segments[1], segments[3]].filter((part) => part !== undefined).join('/');
  for (const action of actionsOf(call)) {
    if (principal.assignments.some((assigned) => allows(assigned, action, scope))) continue;
    throw new WireError(
      403,
      blocked(
        `Request is blocked because principal [${principal.id}] does not have required RBAC permissions to perform action [${PREFIX}${action}] on resource [${scope === '' ? '/' : scope}]. Learn more: https://aka.ms/cosmos-native-rbac.`,
      ),
      5301,
    );
  }
}

/** The service begins all its refusals of tokens with this text. */
export const blocked = (why: string): string => `Request blocked by Auth millrace-emulator : ${why}`;

function allows({ role: given, scope: within }: Assignment, action: string, scope: string): boolean {
  if (given === 'reader' && !READS.includes(action)) return false;
  return within === undefined || scope === within || scope.startsWith(`${within}/`);
}

function actionsOf(call: WireCall): string[] {
  const { method, segments, headers } = call;
  const kind = requestKindOf(call);
  if (kind === 'batch') {
    const operations = parseJson(bodyText(call.body)) as { operationType?: unknown }[];
    if (!Array.isArray(operations)) return [`${CONTAINERS}items/create`];
    return [...new Set(operations.map((each) => String(each?.operationType).toLowerCase()))].map(
      (type) => `${CONTAINERS}${ACTIONS[type] ?? 'items/create'}`,
    );
  }
  const action = ACTIONS[kind];
  if (action !== undefined) return [`${CONTAINERS}${action}`];
  const reads = method === 'GET' || header(headers, 'x-ms-documentdb-isquery') !== undefined;
  if (reads && segments[0] !== 'offers') return [METADATA];
  throw new WireError(
    403,
    blocked(
      `The given request [${method} /${segments.join('/')}] cannot be authorized by AAD token in data plane. Learn more: https://aka.ms/cosmos-native-rbac.`,
    ),
    5300,
  );
}
