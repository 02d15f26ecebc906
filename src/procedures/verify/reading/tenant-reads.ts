// What a comparison for one tenant reads: of some containers only the tenant's documents.
import type { SqlParameter, SqlQuerySpec } from '@azure/cosmos';
import { sourcesOf } from '../../../pipeline/pipeline.ts';
import { typeRules } from '../../../pipeline/discriminator.ts';
import {
  type Doc,
  type EmbedSpec,
  type OutsideSpec,
  type ProjectionSpec,
  type SourceRef,
  isOutside,
} from '../../../pipeline/specs.ts';
import { isOfTenants } from '../../../pipeline/tenant.ts';
import { containerOf } from '../../../model/model.ts';
import type { LoadedPipeline } from '../../../runtime/workspace.ts';
import type { AskedTenant } from '../../tenants/tenant-flag.ts';
import { isOnePartition } from '../../tenants/documents.ts';

type Compared = ProjectionSpec | EmbedSpec | OutsideSpec;
type Loaded = Pick<LoadedPipeline, 'pipeline' | 'model'>;

/** A query, with the partition where one has all documents that are asked for. */
export interface TenantReading {
  readonly query: SqlQuerySpec;
  readonly options: { readonly partitionKey?: string | number };
}

/** Every document of a container. */
export const ALL: TenantReading = { query: { query: 'SELECT * FROM c' }, options: {} };

export interface Condition {
  /** SQL on `c`. */
  readonly where: string;
  readonly parameters: readonly SqlParameter[];
}

/**
 * A tenant's part of the containers that some projections read and write. A container is read in part if its key has
 * the tenant, and if each projection that uses it keeps tenants apart: then no document of another tenant has a share in
 * the tenant's sink documents. Every other container is read as a whole.
 */
export class TenantReads {
  readonly #asked: AskedTenant | undefined;
  readonly #loaded: Loaded;
  readonly #parted: ReadonlySet<string>;

  /** `asked`: undefined for all tenants. */
  constructor(asked: AskedTenant | undefined, loaded: Loaded, specs: readonly Compared[]) {
    this.#asked = asked;
    this.#loaded = loaded;
    const whole = specs.filter((spec) => !this.#isApart(spec)).flatMap(containersOf);
    const all = specs.flatMap(containersOf).filter((name) => this.#isKeyed(name));
    this.#parted = new Set(asked ? all.filter((name) => !whole.includes(name)) : []);
  }

  /** Whether a document of a container counts. */
  has(container: string, doc: Doc): boolean {
    return !this.#asked || !this.#parted.has(container) || doc[this.#asked.rule.field] === this.#asked.value;
  }

  /** A query for the documents of a container that count. `condition`: which of them. */
  of(container: string, condition?: Condition): TenantReading {
    const asked = this.#parted.has(container) ? this.#asked : undefined;
    const designed = containerOf(this.#loaded.model, container);
    const own = asked && { name: '@tenant', value: asked.value };
    const conditions = [
      ...(condition ? [condition.where] : []),
      ...(asked ? [`c[${JSON.stringify(asked.rule.field)}] = @tenant`] : []),
    ];
    return {
      query: {
        query: `SELECT * FROM c${conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`}`,
        parameters: [...(condition?.parameters ?? []), ...(own ? [own] : [])],
      },
      options: asked && designed && isOnePartition(designed, asked.rule) ? { partitionKey: asked.value } : {},
    };
  }

  /** Whether a tenant's documents of the sink follow from the tenant's documents, and from reference data. */
  #isApart(spec: Compared): boolean {
    const sources = this.#loaded.pipeline.sources;
    if (spec.kind === 'table') return this.#isKeyed(spec.from.container) && !typeRules(sources, spec.from).upcast;
    if (spec.kind === 'send' || spec.acrossTenants || !this.#isKeyed(spec.into.container)) return false;
    const field = this.#asked?.rule.field ?? '';
    if (spec.kind === 'reference' && spec.key[field] !== field) return false;
    return sourcesOf(spec)
      .concat(spec.kind === 'embed' ? spec.into : [])
      .filter(({ container }) => this.#isTenanted(container))
      .every((of: SourceRef) => this.#isKeyed(of.container) && !typeRules(sources, of).upcast);
  }

  #isTenanted(name: string): boolean {
    const container = containerOf(this.#loaded.model, name);
    return this.#asked !== undefined && container !== undefined && isOfTenants(container, this.#asked.rule.field);
  }

  /** Whether the key has the tenant, so that a document can't change its tenant. */
  #isKeyed(name: string): boolean {
    const paths = containerOf(this.#loaded.model, name)?.partitionKey ?? [];
    return this.#isTenanted(name) && paths.includes(`/${this.#asked?.rule.field ?? ''}`);
  }
}

const containersOf = (spec: Compared): string[] => [
  ...sourcesOf(spec).map(({ container }) => container),
  ...(isOutside(spec) ? [] : [spec.into.container]),
];
