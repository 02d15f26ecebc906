// What a pipeline's `tenant` means for the containers of its model.
import { mayBeRounded } from '../base/whole-numbers.ts';
import type { MillraceError } from '../base/errors.ts';
import { shown } from '../base/json.ts';
import { type Container, type Model, containerOf } from '../model/model.ts';
import { definitionError } from './errors.ts';
import type { Pipeline } from './specs.ts';

/** How documents state their tenant. */
export interface TenantRule {
  /** A top-level field. */
  readonly field: string;
  /** The type of its values. A text and a number are never the same tenant, even if they look alike. */
  readonly kind: 'string' | 'number';
}

type Tenanted = Pick<Pipeline, 'tenant'>;

/** Undefined: the pipeline declares no tenant. The model's fields say whether its values are texts or numbers. */
export function tenantRule({ tenant: field }: Tenanted, { containers }: Model): TenantRule | undefined {
  if (field === undefined) return undefined;
  const known = containers.flatMap(({ types }) => types.flatMap(({ fields }) => fields[field]?.kind ?? []));
  const numbers = known.length > 0 && known.every((kind) => kind === 'int' || kind === 'number');
  return { field, kind: numbers ? 'number' : 'string' };
}

/** The rule for a container's documents. Undefined: they belong to no tenant. */
export function tenantRuleOf(pipeline: Tenanted, model: Model, name: string): TenantRule | undefined {
  const rule = tenantRule(pipeline, model);
  const container = rule && containerOf(model, name);
  return container && isOfTenants(container, rule.field) ? rule : undefined;
}

/** Whether a container's documents each belong to a tenant: the key or a type has the field. */
export const isOfTenants = ({ reference, partitionKey, types }: Container, field: string): boolean =>
  !reference && (partitionKey.includes(`/${field}`) || types.some(({ fields }) => Object.hasOwn(fields, field)));

/**
 * Whether all documents of one full partition key have one tenant, because the tenant is a level of the key. Only then may
 * changes of one tenant be deferred: otherwise the order of a key would be broken (docs/SPEC-tenants.md).
 */
export const tenantFollowsFromKey = ({ partitionKey }: Container, { field }: TenantRule): boolean =>
  partitionKey.includes(`/${field}`);

/**
 * The tenant of a document, as text. It is unique among a pipeline's tenants, since their values have one type.
 * @throws MillraceError `tenant-missing`, `tenant-invalid`
 */
export function tenantOf({ field, kind }: TenantRule, document: object): string {
  const value: unknown = (document as Record<string, unknown>)[field];
  if (value === undefined || value === null || value === '')
    throw definitionError('tenant-missing', `The document names no tenant: ${field} ${said(value)}`);
  if (typeof value !== kind || (typeof value === 'number' && (!Number.isFinite(value) || mayBeRounded(value))))
    throw definitionError('tenant-invalid', `The tenant in ${field} is ${shown(value)}, not ${KINDS[kind]}`);
  if (typeof value === 'string' && value.trim() === '')
    throw definitionError('tenant-invalid', `The tenant in ${field} is ${shown(value)}, which is only white space`);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The value that documents have for a tenant that a person wrote. @throws MillraceError `tenant-missing`, `tenant-invalid` */
export function tenantValue(rule: TenantRule, tenant: string): string | number {
  const value = rule.kind === 'number' && tenant.trim() !== '' ? Number(tenant) : tenant;
  tenantOf(rule, { [rule.field]: value });
  return value;
}

/** The error of a projection that makes a document for another tenant than its source's; undefined if it doesn't. */
export function crossing(rule: TenantRule, tenant: string, what: string, document: object): MillraceError | undefined {
  const value: unknown = (document as Record<string, unknown>)[rule.field];
  if (typeof value === rule.kind && String(value) === tenant) return undefined;
  const written = value === undefined ? `a document without ${rule.field}` : `a document of tenant ${shown(value)}`;
  return definitionError('tenant-crossed', `${what} makes ${written} from one of tenant ${shown(tenant)}`);
}

const KINDS = { string: 'a text', number: 'a finite number that JavaScript holds exactly' } as const;

const said = (value: unknown): string =>
  value === undefined ? 'is missing' : value === '' ? 'is empty' : `is ${shown(value)}`;
