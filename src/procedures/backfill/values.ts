import { mayBeRounded } from '../../base/whole-numbers.ts';
import { shown } from '../../base/json.ts';
import { type KeyPath, valueAtPath } from '../../cosmos/paths.ts';
import type { TenantRule } from '../../pipeline/tenant.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { operationsError } from '../errors.ts';

/** A tenant's value in a document. */
export type BackfillTenant = string | number;

/** Where the missing values come from; the form in which an operator gives it. */
export interface ValuesInput {
  /** `FIELD` of the same document, or `CONTAINER.FIELD` of another one with `by`. Names of deeper fields have dots. */
  readonly from?: string | undefined;
  readonly by?: string | undefined;
  readonly value?: string | undefined;
}

/** A document's value, or the reason why it has none. */
export type FoundTenant = { readonly value: BackfillTenant } | { readonly why: string };

export type BackfillDoc = Readonly<Record<string, unknown>>;

/** Finds the tenants of documents that lack them. It guesses none. */
export interface BackfillValues {
  /** In the order of the documents. `access` is one to their database. */
  of(documents: readonly BackfillDoc[], access: DocumentAccess): Promise<FoundTenant[]>;
}

const MOST_CHARACTERS = 1_000;
const KINDS = { string: 'a text', number: 'a finite number' } as const;

/** @throws UsageError `input-invalid` unless exactly one of `from` and `value` is given */
export function assertOne({ from, value }: ValuesInput): void {
  if ((from === undefined) === (value === undefined))
    throw invalid('Give either --from or --value', 'Name the field to copy, or the one tenant of all documents.');
}

/** One value for all documents. @throws UsageError `input-invalid` */
export function sameValue(text: string, { kind }: TenantRule): BackfillValues {
  const value = kind === 'number' && text.trim() !== '' ? Number(text) : text;
  if (!isTenant(value, kind))
    throw invalid(
      `--value is not a tenant: ${KINDS[kind]}${kind === 'string' ? ` of 1 to ${MOST_CHARACTERS} characters` : ''}`,
      'Write it as the examples of the data model do.',
    );
  return { of: async (documents) => documents.map(() => ({ value })) };
}

/** The value of a field of each document. */
export const fromField = (from: string, rule: TenantRule): BackfillValues => ({
  of: async (documents) => documents.map((doc) => tenantAt(doc, from.split('.'), rule, 'it')),
});

/** The tenant at a path of a document. `where`: the document, for the reason. */
export function tenantAt(document: BackfillDoc, path: KeyPath, { kind }: TenantRule, where: string): FoundTenant {
  const value = valueAtPath(document, path);
  const name = path.join('.');
  if (value === undefined || value === null) return { why: `${where} has no ${name}` };
  if (isTenant(value, kind)) return { value };
  return { why: `${where} has ${shown(value)} as ${name}, which is not a tenant: ${KINDS[kind]}` };
}

const isTenant = (value: unknown, kind: TenantRule['kind']): value is BackfillTenant =>
  typeof value === kind &&
  (typeof value === 'string'
    ? value.trim() !== '' && value.length <= MOST_CHARACTERS
    : Number.isFinite(value) && !mayBeRounded(Number(value)));

export const invalid = (message: string, hint: string): Error => operationsError('input-invalid', message, { hint });
