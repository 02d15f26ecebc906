import { createHash } from 'node:crypto';
import { digest } from '../../base/json.ts';
import { codecOf, endingOf } from './codec.ts';
import { type ArchiveCodec, type ArchiveSpec, type Doc, projectionId } from '../../pipeline/specs.ts';

/** One folder of blobs: a projection's documents of one tenant and month. */
export interface Period {
  readonly projection: string;
  readonly tenant: string;
  /** `yyyy-mm`, UTC. */
  readonly period: string;
}

/** The folder of an archive without tenants. */
const ALL_TENANTS = 'all';
const MANIFEST = '/manifest.json';

export const periodOf = (spec: ArchiveSpec, doc: Doc, at: number): Period => ({
  projection: projectionId(spec),
  tenant: folderTenant(spec, doc),
  period: new Date(at).toISOString().slice(0, 7),
});

/** The tenant in whose folder a document belongs; empty if the document names none. */
export function folderTenant({ tenantField }: Pick<ArchiveSpec, 'tenantField'>, doc: Doc): string {
  const value = tenantField === undefined ? ALL_TENANTS : (doc[tenantField] ?? '');
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** `<projection>/<tenant>/<yyyy>/<mm>`. */
export const folderOf = ({ projection, tenant, period }: Period): string =>
  `${projection}/${segment(tenant)}/${period.replace('-', '/')}`;

/** What the names of a tenant's blobs have in them, in any projection. */
export const stepOf = (tenant: string): string => `/${segment(tenant)}/`;

export const manifestName = (period: Period): string => `${folderOf(period)}${MANIFEST}`;
export const blobName = (period: Period, sha256: string, codec: ArchiveCodec = 'gzip'): string =>
  `${folderOf(period)}/${sha256}${endingOf(codec)}`;
export const manifestBeside = (name: string): string => `${name.slice(0, name.lastIndexOf('/'))}${MANIFEST}`;
export const isManifest = (name: string): boolean => name.endsWith(MANIFEST);
export const isBlob = (name: string): boolean => codecOf(name) !== undefined;

/** The folder of a blob or a manifest, from its name alone; with the tenant's digest where the tenant is too long. */
export function placeOf(name: string): Period {
  const [projection = '', step = '', year = '', month = ''] = name.split('/');
  return { projection, tenant: tenantOf(step), period: `${year}-${month}` };
}

/** Whether a folder that `placeOf` returned is of this tenant. */
export const isTenant = (place: Period, tenant: string): boolean => place.tenant === tenantOf(segment(tenant));

/** Whether a folder may have documents of this tenant: its own, or one that an archive without tenants wrote. */
export const mayHold = (place: Period, tenant: string): boolean => isTenant(place, tenant) || isShared(place);

/** Whether an archive without tenants wrote the folder. A tenant that is named so has the same folder. */
export const isShared = (place: Pick<Period, 'tenant'>): boolean => place.tenant === ALL_TENANTS;

/** A tenant, and first and last period, `yyyy-mm` or `yyyy`, both included. */
export interface PeriodSelection {
  readonly tenant?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Whether a selection has a folder that `placeOf` returned. */
export const isSelected = (place: Period, { tenant, ...months }: PeriodSelection): boolean =>
  (tenant === undefined || isTenant(place, tenant)) && isWithin(place, months);

const isWithin = (place: Period, { from, to }: Omit<PeriodSelection, 'tenant'>): boolean =>
  // Months compare as text, and the text of a year is before those of its months.
  (from === undefined || place.period >= from) && (to === undefined || place.period.slice(0, to.length) <= to);

/** The SHA-256 that a blob's name promises of its content. */
export const promised = (name: string): string => /^([^.]*)\./.exec(name.slice(name.lastIndexOf('/') + 1))?.[1] ?? '';
export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** The prefix of all versions of the archive projection: documents of earlier versions still belong to it. */
export const prefixOf = (spec: Pick<ArchiveSpec, 'name'>): string => `${spec.name}@`;

/** A tenant as one segment of a blob's path: each byte but letters, digits, dash and underscore becomes `~XX`. */
function segment(tenant: string): string {
  const escaped = [...Buffer.from(tenant)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9_-]/.test(char) ? char : `~${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
  if (escaped === '') return '~';
  return escaped.length <= 200 ? escaped : `~~${digest(tenant)}`;
}

/** The tenant of such a segment. */
function tenantOf(step: string): string {
  if (step === '~') return '';
  if (step.startsWith('~~')) return step;
  const bytes = step.replaceAll(/~([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}
