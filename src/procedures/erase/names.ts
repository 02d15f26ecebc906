// Whether a text names a tenant.
import { isObject } from '../../base/json.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';

/** A letter or a digit beside it makes another word of a text. */
const BESIDE = String.raw`[\p{L}\p{N}]`;

/**
 * Finds the tenant in a text as a word of its own, also within JSON within the text. A tenant that is a number names itself
 * only by the whole text: other numbers are no tenants.
 */
export function namesIn({ tenant, rule }: Pick<AskedTenant, 'tenant' | 'rule'>): RegExp {
  if (rule.kind === 'number') return new RegExp(`^${escaped(tenant)}$`, 'gu');
  const forms = [...new Set([tenant, JSON.stringify(tenant).slice(1, -1)])].map(escaped);
  return new RegExp(`(?<!${BESIDE})(?:${forms.join('|')})(?!${BESIDE})`, 'gu');
}

const escaped = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`);

/** A value with `by` in place of the tenant, wherever a text in it names the tenant. */
export function renamed(value: unknown, names: RegExp, by: string): unknown {
  if (typeof value === 'string') return value.replaceAll(names, by);
  if (Array.isArray(value)) return value.map((one) => renamed(one, names, by));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name.replaceAll(names, by), renamed(one, names, by)]),
  );
}

/** Whether a text in a value names the tenant. */
export function isNamed(value: unknown, names: RegExp): boolean {
  if (typeof value === 'string') return value.search(names) !== -1;
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(([name, one]) => isNamed(name, names) || isNamed(one, names));
}

/** Whether an object in a value names the tenant in its field `tenant`, as reports, notes and inputs of operations do. */
export function isForTenant(value: unknown, tenant: string): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return (
    (isObject(value) && value['tenant'] === tenant) || Object.values(value).some((one) => isForTenant(one, tenant))
  );
}
