import type { Container, Database, EncryptionQueryBuilder, FeedOptions, Items, SqlQuerySpec } from '@azure/cosmos';
import { isObject } from '../base/json.ts';
import type { KeyPath } from '../cosmos/paths.ts';
import { clientError } from './errors.ts';
import { namesOne } from './tenant-condition.ts';
import { fieldPath, storedKeyPathsOf, pathText } from './tenant-key.ts';

export interface TenantGuardOptions {
  /** The tenant field of the documents, such as `/tenantId`. */
  readonly field: string;
  /** Containers of a database with documents of tenants. Default: all. */
  readonly containers?: readonly string[];
  /** Containers that are never checked: reference data, and Millrace's own containers. */
  readonly reference?: readonly string[];
  /** Default: true, except where `NODE_ENV` is `production`. */
  readonly enabled?: boolean;
}

/**
 * For development and tests: a database whose containers, or a container that, throws `all-tenants` where a query or
 * a feed names no tenant. It changes no request and no result. Only what is opened from the returned object is checked.
 * With `NODE_ENV=production` it returns the given object and sends nothing.
 * @throws UsageError `container-missing` for a name in `containers`, or for the given container
 */
export async function guardTenants<T extends Database | Container>(target: T, options: TenantGuardOptions): Promise<T> {
  const { enabled = process.env['NODE_ENV'] !== 'production' } = options;
  if (!enabled) return target;
  return ('items' in target ? guardedOne(target, options) : guardedAll(target, options)) as Promise<T>;
}

async function guardedOne(container: Container, { field, reference = [] }: TenantGuardOptions): Promise<Container> {
  if (reference.includes(container.id)) return container;
  return guarded(container, fieldPath(field), await storedKeyPathsOf(container));
}

async function guardedAll(database: Database, options: TenantGuardOptions): Promise<Database> {
  const { field, containers, reference = [] } = options;
  const paths = new Map<string, readonly KeyPath[]>();
  const named = containers ?? (await containersOf(database)).filter((name) => !reference.includes(name));
  for (const name of named) paths.set(name, await storedKeyPathsOf(database.container(name)));
  const isGuarded = (name: string): boolean => (containers ?? [name]).includes(name) && !reference.includes(name);
  return over(database, {
    container: (name: string) => {
      const container = database.container(name);
      return isGuarded(name) ? guarded(container, fieldPath(field), paths.get(name) ?? []) : container;
    },
  });
}

/**
 * Marks the options of a query, or a feed, that is meant to read all tenants: `items.query(text, acrossTenants())`.
 * The mark is for `guardTenants`; the client ignores it.
 */
export const acrossTenants = <O extends object = FeedOptions>(options?: O): O =>
  ({ ...options, [ACROSS]: true }) as unknown as O;

const ACROSS = Symbol('across tenants');

async function containersOf(database: Database): Promise<string[]> {
  const { resources } = await database.containers.readAll().fetchAll();
  return resources.map(({ id }) => id);
}

/** `paths`: the levels of the container's key; empty for a container that was created later. */
function guarded(container: Container, field: KeyPath, paths: readonly KeyPath[]): Container {
  const isFirst = paths[0] !== undefined && pathText(paths[0]) === pathText(field);
  /** A prefix of a hierarchical key is no filter of a query (ASM-E72). The newer iterator of a feed takes one. */
  const keyed = (key: unknown, levels: number): boolean =>
    isFirst && (Array.isArray(key) ? key.length >= levels && isValue(key[0]) : levels === 1 && isValue(key));
  const need = (what: string, holds: boolean, ...given: readonly unknown[]): void => {
    if (holds || given.some((each) => isObject(each) && ACROSS in each)) return;
    throw clientError('all-tenants', `${what} of ${container.id} names no tenant in ${pathText(field)}`);
  };
  const { items } = container;
  const query = (spec: string | SqlQuerySpec, options?: FeedOptions) => {
    const asked = typeof spec === 'string' ? { query: spec } : spec;
    // With a plan the client drops the key (ASM-E73).
    const byKey = options?.forceQueryPlan !== true && keyed(options?.partitionKey, paths.length);
    need(`The query "${asked.query}"`, byKey || namesOne(asked, field), options);
    return items.query(spec, options);
  };
  const feed =
    (name: 'changeFeed' | 'readChangeFeed') =>
    (...given: unknown[]) => {
      need('The change feed', keyed(given[0], paths.length), ...given);
      return Reflect.apply(items[name], items, given);
    };
  const checks: Partial<Record<keyof Items, unknown>> = {
    query,
    getEncryptionQueryIterator: async (builder: EncryptionQueryBuilder, options?: FeedOptions) => {
      need('An encrypted query', keyed(options?.partitionKey, paths.length), options);
      return items.getEncryptionQueryIterator(builder, options);
    },
    readAll: (options?: FeedOptions) => query('SELECT * from c', options),
    changeFeed: feed('changeFeed'),
    readChangeFeed: feed('readChangeFeed'),
    getChangeFeedIterator: (options?: Parameters<Items['getChangeFeedIterator']>[0]) => {
      need('The change feed', keyed(keyOf(options?.changeFeedStartFrom), 1), options);
      return items.getChangeFeedIterator(options);
    },
  };
  return over(container, { items: over(items, checks) });
}

const isValue = (level: unknown): boolean => typeof level === 'string' || typeof level === 'number';

interface Start {
  getCfResource?(): unknown;
  /** A continuation's. */
  getCfResourceJson?(): unknown;
}

/** The key of a start position; undefined if it has none, or names a range. */
function keyOf(start: Start = {}): unknown {
  if (!start.getCfResourceJson) return start.getCfResource?.();
  try {
    const continuation = start.getCfResourceJson();
    return isObject(continuation) ? continuation['partitionKey'] : undefined;
  } catch {
    return undefined;
  }
}

/** The object with some of its members replaced. */
const over = <T extends object>(target: T, members: Partial<Record<keyof T, unknown>>): T =>
  new Proxy(target, {
    get: (_, name) => {
      if (Object.hasOwn(members, name)) return members[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
