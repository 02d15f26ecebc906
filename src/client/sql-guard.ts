// In development: a pool or client of `pg` that refuses statements which aren't confined to one tenant.
import { clientError } from './errors.ts';
import type { SqlSchema } from './sql-schema.ts';

/** What `guardSql` needs of a pool or a client of `pg`, or of another library with the same methods. */
export interface SqlQueryable {
  query(...given: never[]): unknown;
}

export interface SqlGuardOptions {
  /** Default: not with NODE_ENV=production. */
  readonly enabled?: boolean;
  /** What happens to a statement of which the check doesn't know whether it is safe. Default: refused. */
  readonly unknown?: 'refuse' | 'allow';
  /** The tenant of this moment. Statements that name another one are refused. */
  readonly current?: () => string | number | bigint | undefined;
}

/** `-- all tenants: a report for the owner` in a statement lets it pass. */
const ALLOWED = /--\s*all tenants\s*:\s*\S/i;

/**
 * Returns the pool, whose `query` throws `all-tenants` for a statement that is not confined to one tenant; so do the
 * clients of its `connect`. Drizzle and other libraries over it are refused too. Statements are never changed.
 */
export function guardSql<T extends SqlQueryable>(target: T, schema: SqlSchema, options: SqlGuardOptions = {}): T {
  const { enabled = process.env['NODE_ENV'] !== 'production' } = options;
  return enabled ? wrapped(target, guardOf(schema, options)) : target;
}

type Guard = (given: readonly unknown[]) => void;

function guardOf(schema: SqlSchema, { unknown = 'refuse', current }: SqlGuardOptions): Guard {
  return ([first, second]) => {
    const { text, values } = statementOf(first, second);
    if (text === undefined || ALLOWED.test(text)) return;
    for (const { rows, why, tenants } of schema.check(text)) {
      if (rows === 'leaks' || (rows === 'unknown' && unknown === 'refuse'))
        throw clientError('all-tenants', `The query isn’t confined to one ${schema.tenant}: ${why}: ${text}`, {
          hint: 'Compare the tenant column with the tenant, or use `sqlForTenant`. If all tenants are wanted, write `-- all tenants: REASON` into the statement.',
        });
      const now = current?.();
      if (now === undefined || rows !== 'safe' || tenants.length === 0) continue;
      const named = tenants.map((of) => (/^\$\d+$/.test(of) ? values[Number(of.slice(1)) - 1] : of));
      if (!named.some((of) => String(of) === String(now)))
        throw clientError('all-tenants', `The query names another ${schema.tenant} than ${now}: ${text}`, {
          hint: 'Compare the tenant column with the tenant, or use `sqlForTenant`. If all tenants are wanted, write `-- all tenants: REASON` into the statement.',
        });
    }
  };
}

/** `query(text, values)`, `query({ text, values })`, and objects that run themselves, such as cursors. */
function statementOf(first: unknown, second: unknown): { text: string | undefined; values: readonly unknown[] } {
  const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as unknown[]) : []);
  if (typeof first === 'string') return { text: first, values: list(second) };
  if (typeof first !== 'object' || first === null) return { text: undefined, values: [] };
  const { text, values, cursor } = first as {
    text?: unknown;
    values?: unknown;
    cursor?: { text?: unknown; values?: unknown };
  };
  const of = typeof text === 'string' ? { text, values } : { text: cursor?.text, values: cursor?.values };
  return { text: typeof of.text === 'string' ? of.text : undefined, values: list(of.values ?? second) };
}

function wrapped<T extends object>(target: T, guard: Guard): T {
  return new Proxy(target, {
    get: (of, name) => {
      const value: unknown = Reflect.get(of, name, of);
      if (typeof value !== 'function') return value;
      if (name === 'query')
        return (...given: unknown[]): unknown => {
          guard(given);
          return value.apply(of, given) as unknown;
        };
      if (name === 'connect')
        return (...given: unknown[]): unknown => {
          const [callback] = given;
          if (typeof callback === 'function')
            return value.call(
              of,
              (error: unknown, client: object | undefined, release: unknown) =>
                callback(error, client && wrapped(client, guard), release) as unknown,
            ) as unknown;
          const connected = value.apply(of, given) as unknown;
          return connected instanceof Promise
            ? connected.then((client: unknown) =>
                typeof client === 'object' && client !== null ? wrapped(client, guard) : client,
              )
            : connected;
        };
      return (value as (...given: unknown[]) => unknown).bind(of);
    },
  });
}
