import type { Container, SqlQuerySpec } from '@azure/cosmos';
import { isObject } from '../../base/json.ts';
import { fetchAll } from '../../cosmos/fetch-all.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { throwMissing } from '../../cosmos/container-missing.ts';
import { isOfType, typeRules } from '../../pipeline/discriminator.ts';
import type { SourceRules } from '../../pipeline/specs.ts';
import { isOwn, notOwn } from '../../cosmos/own-documents.ts';
import { LEAVING_TTL_S } from '../../kinds/archive/leaving.ts';

type Doc = Readonly<Record<string, unknown>>;

/** The documents of one container that an operator may backfill. */
export class Lacking {
  readonly #container: Container;
  readonly #field: string;
  readonly #type: string | undefined;
  readonly #rules: ReturnType<typeof typeRules>;

  /** `type`: only documents of that type, by the pipeline's rules. */
  constructor(container: Container, field: string, type: string | undefined, sources: readonly SourceRules[]) {
    this.#container = container;
    this.#field = field;
    this.#type = type;
    this.#rules = typeRules(sources, { container: container.id, type: type ?? '' });
  }

  /**
   * Whether a stored document is an application's, and its tenant is absent or null. A derived document gets its tenant
   * from its projection, and one that leaves for the archive is as good as gone.
   */
  has(stored: Doc): boolean {
    const { ttl, _mr: own } = stored;
    if ((stored[this.#field] ?? undefined) !== undefined || ttl === LEAVING_TTL_S) return false;
    if (isOwn(stored) || (isObject(own) && own['by'] !== undefined)) return false;
    return this.#type === undefined || isOfType(this.#type, this.#rules, stored);
  }

  /** Reads those that lack it now, by a query. */
  async *read(signal: AbortSignal): AsyncGenerator<Doc> {
    for await (const doc of fetchAll<Doc>(this.#container, this.#query('*'), signal)) if (this.has(doc)) yield doc;
  }

  /** Their number by the service's count, and the number of all documents. */
  async count(): Promise<{ lacking: number; all: number }> {
    const [lacking, all] = await Promise.all(
      [this.#query('VALUE COUNT(1)'), 'SELECT VALUE COUNT(1) FROM c'].map((query) =>
        withRetry(() => this.#container.items.query<number>(query).fetchAll(), { reads: true }).catch(
          throwMissing(this.#container),
        ),
      ),
    );
    return { lacking: lacking?.resources[0] ?? 0, all: all?.resources[0] ?? 0 };
  }

  /** All of them, and with a discriminator that is a function documents of other types too. */
  #query(what: string): SqlQuerySpec {
    const field = `c[${JSON.stringify(this.#field)}]`;
    const { discriminator = 'type' } = this.#rules;
    const typed = this.#type !== undefined && typeof discriminator === 'string';
    const conditions = [
      `(NOT IS_DEFINED(${field}) OR IS_NULL(${field}))`,
      notOwn('c'),
      'NOT IS_DEFINED(c._mr["by"])',
      `(NOT IS_DEFINED(c.ttl) OR c.ttl != ${LEAVING_TTL_S})`,
      ...(typed ? [`c[${JSON.stringify(discriminator)}] = @type`] : []),
    ];
    const parameters = this.#type !== undefined && typed ? [{ name: '@type', value: this.#type }] : [];
    return { query: `SELECT ${what} FROM c WHERE ${conditions.join(' AND ')}`, parameters };
  }
}
