// The part of a comparison that a person asked for: one partition key of a sink, or one tenant.
import { canonical } from '../../base/json.ts';
import { type Model, containerOf, keyPathsOf } from '../../model/model.ts';
import { type Doc, type EmbedSpec, type OutsideSpec, type ProjectionSpec, isOutside } from '../../pipeline/specs.ts';
import { operationsError } from '../errors.ts';
import { plural } from '../table.ts';
import type { AskedTenant } from '../tenants/tenant-flag.ts';
import type { Candidate } from './difference.ts';

export interface AskedPart {
  /** Only sink documents under this partition key, or under the key that begins so. */
  readonly key?: readonly unknown[] | undefined;
  /** Only sink documents of this tenant. */
  readonly ofTenant?: AskedTenant | undefined;
}

/** Whether a sink document is counted: its key values and id as canonical JSON, its container, and itself. */
export type Counts = (document: string, container: string, doc: Doc) => boolean;

/** @throws UsageError `input-invalid` */
export function assertKey(
  { key }: AskedPart,
  specs: readonly (ProjectionSpec | EmbedSpec | OutsideSpec)[],
  model: Model,
): void {
  if (key === undefined) return;
  for (const spec of specs) {
    if (isOutside(spec))
      throw operationsError(
        'input-invalid',
        `--key names a partition key, and the sink of ${spec.name} is no container`,
        {
          hint: 'Leave out --key.',
        },
      );
    const { container } = spec.into;
    const levels = keyPathsOf(model, container);
    if (key.length > 0 && key.length <= levels.length) continue;
    throw operationsError(
      'input-invalid',
      `--key ${canonical(key)} has ${plural(key.length, 'value')}, and the key of ${container} is ${levels.join(', ')}`,
      { hint: 'Write it as a JSON array with a value for each level, or for the first levels.' },
    );
  }
}

/** Whether a document, by its key values and id as canonical JSON, is under the key. */
export function underOf({ key }: AskedPart): (document: string) => boolean {
  if (key === undefined) return () => true;
  const within = `${canonical(key).slice(0, -1)},`;
  return (document) => document.startsWith(within);
}

/** Undefined: every document is counted. */
export function countsOf({ key, ofTenant }: AskedPart, model: Model): Counts | undefined {
  if (key === undefined && !ofTenant) return undefined;
  const isUnder = underOf({ key });
  return (document, container, doc) =>
    isUnder(document) &&
    // The rows of a table are read by tenant.
    (!ofTenant ||
      !containerOf(model, container) ||
      (isAt(ofTenant, container, JSON.parse(document) as unknown[], model) ?? ofTenant.owns(container, doc)));
}

/** Whether a difference is about a document of the tenant: by the level of its key, or by the field. */
export function isOf(
  asked: AskedTenant,
  { container, document, expected, found, tenant }: Candidate,
  model: Model,
): boolean {
  if (tenant !== undefined) return tenant === asked.tenant;
  const at = isAt(asked, container, JSON.parse(document) as unknown[], model);
  return at ?? [expected, found].some((doc) => doc !== undefined && asked.owns(container, doc));
}

/** Whether a key is the tenant's; undefined: the tenant is no level of it. */
export function isAt({ value, rule }: AskedTenant, container: string, key: readonly unknown[], model: Model) {
  const level = keyPathsOf(model, container).indexOf(`/${rule.field}`);
  return level === -1 ? undefined : key[level] === value;
}

/** What was asked for, where no document has it. It may have had documents, or get some, so it is no error. */
export const sayNone = ({ key, ofTenant }: AskedPart): string =>
  [...(key ? [`the key ${canonical(key)}`] : []), ...(ofTenant ? [`the tenant ${ofTenant.tenant}`] : [])].join(' and ');
