import { randomBytes } from 'node:crypto';
import { type KeyLevel, isMissing } from '../base/key-level.ts';
import type { Container, FeedOptions, Resource, SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { hiding, isHidden } from '../cosmos/own-documents.ts';
import { type KeyPath, valueAtPath } from '../cosmos/paths.ts';
import { withRetry } from '../cosmos/retry.ts';
import type { Type } from '../pipeline/types.ts';
import { sharedError } from '../base/shared-errors.ts';
import { clientError } from './errors.ts';
import { property, readQuery, withConditions } from './query-text.ts';
import { type Tenant, checkedTenant, fullKeyOf, pathText, tenantPaths } from './tenant-key.ts';
import { TenantQuery } from './tenant-query.ts';

/** Options of a query that can't change which documents it reaches. Every other option is refused. */
const HARMLESS = [
  'abortSignal',
  'bufferItems',
  'bypassIntegratedCache',
  'consistencyLevel',
  'continuationTokenLimitInKB',
  'enableScanInQuery',
  'excludedLocations',
  'maxDegreeOfParallelism',
  'maxIntegratedCacheStalenessInMs',
  'maxItemCount',
  'populateIndexMetrics',
  'populateQueryMetrics',
  'priorityLevel',
  'sessionToken',
  'throughputBucket',
] as const satisfies readonly (keyof FeedOptions)[];

export interface TenantOptions<D extends object = Record<string, unknown>> {
  /** The tenant field, such as `/tenantId`: an error if the container's partition key begins with another. */
  readonly field?: string;
  /** `model<Shop>(…).Orders.order`: gives the documents their type. It filters nothing. */
  readonly of?: Type<D>;
  /** True: the documents that Millrace stores for itself come too, and no condition hides them. Default false. */
  readonly withOwn?: boolean;
  /** A request that gets no answer for this long fails, milliseconds. Default 60,000. */
  readonly withinMs?: number;
  /**
   * The secret that seals continuations: 32 random bytes, the same in each process that takes them. Default: a secret of
   * this process, so that another process, or this one after a restart, refuses them.
   */
  readonly sealWith?: string | Uint8Array;
}

/** Shorter ones can be found by trying. */
const SHORTEST_SECRET = 32;
const OF_THIS_PROCESS = randomBytes(SHORTEST_SECRET);

export interface TenantQueryOptions extends Pick<FeedOptions, (typeof HARMLESS)[number]> {
  /** Values of the levels of the key after the tenant, from the first on: fewer documents, and a cheaper query. */
  readonly within?: readonly KeyLevel[];
}

/** Reads one container for one tenant. No request reaches another tenant's documents. */
export interface TenantReader<D extends object> {
  readonly tenant: Tenant;
  /**
   * A point read. `rest` is the key after the tenant; the last level may be left out if it is `/id`. Undefined: there
   * is no such document.
   * @throws UsageError `option-invalid`, `tenant-field-wrong`, `container-missing`
   */
  read(id: string, ...rest: KeyLevel[]): Promise<(D & Resource) | undefined>;
  /**
   * A query over the tenant's documents; sent when its results are read. Its `FROM` begins with the whole document.
   * Every result comes of a document of the tenant. A result that is a whole document is also compared with the
   * tenant; of other results the text alone ensures it.
   * @throws UsageError `query-unsupported`, `option-invalid`
   */
  query<T = D & Resource>(query: string | SqlQuerySpec, options?: TenantQueryOptions): TenantQuery<T>;
}

/**
 * For applications: `forTenant(database.container('orders'), session.tenantId).query('SELECT * FROM c')` reads the
 * orders of one tenant. Cheap enough for one call a request. The first level of the container's partition key is the
 * tenant.
 * @throws UsageError `option-invalid`
 */
export function forTenant<D extends object = Record<string, unknown>>(
  container: Container,
  tenant: Tenant,
  { field, withOwn = false, withinMs, sealWith = OF_THIS_PROCESS }: TenantOptions<D> = {},
): TenantReader<D> {
  if (sealWith.length < SHORTEST_SECRET)
    throw sharedError(
      'option-invalid',
      `\`sealWith\` has ${sealWith.length} of ${SHORTEST_SECRET} characters or bytes`,
      { hint: 'Pass 32 random bytes or more as `sealWith`, such as the output of `openssl rand -base64 32`.' },
    );
  const value = checkedTenant(tenant);
  const retry = withinMs === undefined ? {} : { withinMs };
  const paths = () => tenantPaths(container, field, retry);
  return {
    tenant: value,
    read: async (id, ...rest) => {
      const key = fullKeyOf(container, await paths(), value, rest, id);
      if (NO_ID.test(id)) return undefined;
      const { resource } = await withRetry(() => container.item(id, key).read<D>(), { ...retry, reads: true });
      if (resource === undefined || (!withOwn && isHidden(resource))) return undefined;
      ensureTenant(resource, (await paths())[0]!, value, container);
      return resource;
    },
    query: <T>(given: string | SqlQuerySpec, { within = [], ...options }: TenantQueryOptions = {}) => {
      const spec = typeof given === 'string' ? { query: given } : given;
      const query = readQuery(spec.query);
      const parameters = [...(spec.parameters ?? [])];
      refuseParameters(spec);
      refuseOptions(options);
      const levels = [value, ...within];
      return new TenantQuery<T>(async () => {
        const key = await paths();
        refuseLevels(container, key, levels);
        const first = key[0]!;
        return {
          container,
          withinMs,
          sealWith,
          spec: {
            query: withConditions(query, [
              ...levels.map((of, level) => {
                const at = property(query.alias, key[level]!);
                return isMissing(of) ? `NOT IS_DEFINED(${at})` : `${at} = ${parameterOf(level)}`;
              }),
              ...(withOwn ? [] : hiding(query.alias)),
            ]),
            parameters: [
              ...parameters,
              ...levels.map((level, at): SqlParameter => ({ name: parameterOf(at), value: level })),
            ],
          },
          // A prefix of a key is no filter: the client and the service treat it differently from query to query (ASM-E72).
          options: { ...options, ...(levels.length === key.length && { partitionKey: levels }) },
          check: (row) => {
            if (query.whole) ensureTenant(row, first, value, container);
          },
        };
      });
    },
  };
}

/** No document can be read by such an id; the client would take some of them for other addresses. */
const NO_ID = /^\s*$|[/\\#]|^\.{1,2}(?:\?|$)/;

const PARAMETER = '@millraceKey';
const parameterOf = (level: number): string => `${PARAMETER}${level}`;

function refuseParameters({ query, parameters = [] }: SqlQuerySpec): void {
  const taken = parameters.find(({ name }) => name.toLowerCase().startsWith(PARAMETER.toLowerCase()));
  if (taken)
    throw sharedError('query-unsupported', `The query has a parameter ${taken.name}: ${query}`, {
      hint: `Give the parameter a name that does not begin with ${PARAMETER}.`,
    });
}

function refuseOptions(options: object): void {
  const refused = Object.entries(options).find(
    ([name, value]) => value !== undefined && !(HARMLESS as readonly string[]).includes(name),
  );
  if (refused)
    throw sharedError('option-invalid', `The option ${refused[0]} is not allowed in a tenant's query`, {
      hint: 'Leave the option out. `forTenant` sets the partition key itself.',
    });
}

function refuseLevels({ id }: Container, paths: readonly KeyPath[], levels: readonly unknown[]): void {
  if (levels.length > paths.length || levels.includes(undefined))
    throw sharedError(
      'option-invalid',
      `\`within\` doesn't fit the partition key of ${id}: ${paths.map(pathText).join(', ')}`,
    );
}

function ensureTenant(row: unknown, path: KeyPath, tenant: Tenant, { id }: Container): void {
  if (valueAtPath(row, path) !== tenant)
    throw clientError(
      'other-tenant-answered',
      `A request to ${id} for one tenant was answered with a document of another`,
    );
}
