// Checks what a projection is about to store: it must be JSON, and of the type that the model gives the sink's documents.
import { sharedError } from '../base/shared-errors.ts';
import type { MillraceError } from '../base/errors.ts';
import { isObject, shown } from '../base/json.ts';
import { pointerPart } from '../base/json-pointer.ts';
import { mayBeRounded, sayRounded } from '../base/whole-numbers.ts';
import { type TenantRule, crossing } from '../pipeline/tenant.ts';
import type { Change } from '../feed/reading/change.ts';
import type { Field, FieldKind, Fields } from '../model/fields.ts';
import { projectionsError } from './errors.ts';

/** A value in a document that its type doesn't allow. */
export interface Misfit {
  /** A JSON pointer. */
  readonly path: string;
  readonly why: string;
}

/** `never`: JSON can't hold the value, or it isn't what was written, or a field that every document has is missing. `type`: it is of another type. */
export interface Misfits {
  readonly never?: Misfit;
  readonly type?: Misfit;
}

/** The first misfit of each kind. `except`: fields that are added later. */
export function misfitsOf(document: object, type: Fields | undefined, except?: ReadonlySet<string>): Misfits {
  const found: { never?: Misfit; type?: Misfit } = {};
  const look: Look = {
    never: (path, why) => void (found.never ??= { path, why }),
    type: (path, why) => void (found.type ??= { path, why }),
  };
  visitFields(document as Record<string, unknown>, type, '', look, [], except);
  return found;
}

export interface FitOptions {
  /** What the model gives the sink's documents. */
  readonly fields?: Fields | undefined;
  /** How a document states its tenant, which must be its source's. Absent: the projection writes across tenants. */
  readonly tenant?: TenantRule | undefined;
}

/** Checks a document before it is stored. @throws MillraceError `value-invalid`, `value-of-other-type`, `tenant-crossed` */
export type Fit = (change: Change, document: object, except?: ReadonlySet<string>) => void;

export const fitOf =
  (projection: string, { fields, tenant: rule }: FitOptions): Fit =>
  ({ tenant }, document, except) => {
    const crossed = rule && tenant !== undefined ? crossing(rule, tenant, projection, document) : undefined;
    if (crossed) throw crossed;
    const { never, type } = misfitsOf(document, fields, except);
    if (never) throw notStorable(projection, never);
    if (type) throw notOfType(projection, type);
  };

/**
 * Checks a value that has no known type: JSON must hold it, and must not change it silently.
 * @throws MillraceError `value-invalid`
 */
export function assertStorable(value: unknown, what: string, path = ''): void {
  const found: { never?: Misfit } = {};
  const look: Look = { never: (at, why) => void (found.never ??= { path: at, why }), type: () => undefined };
  visit(value, undefined, path, look, []);
  if (found.never) throw notStorable(what, found.never);
}

const notStorable = (what: string, { path, why }: Misfit): MillraceError =>
  sharedError('value-invalid', `${what}: ${path === '' ? 'the value' : path} ${why}`, {
    hint: 'Return a value that the type allows, or leave the document out with `where`. Then run `millrace dead-letters redrive`.',
  });

const notOfType = (what: string, { path, why }: Misfit): MillraceError =>
  projectionsError('value-of-other-type', `${what}: ${path} ${why}`);

interface Look {
  never(path: string, why: string): void;
  type(path: string, why: string): void;
}

type Holders = readonly unknown[];

function visit(given: unknown, field: Field | undefined, path: string, look: Look, holders: Holders): void {
  const value = asJson(given);
  if (typeof value === 'number' && !Number.isFinite(value))
    return look.never(path, `is ${value}, which JSON can't hold`);
  if (typeof value === 'number' && mayBeRounded(value)) return look.never(path, sayRounded(value));
  if (given instanceof Date && value === null) return look.never(path, "is an invalid date, which JSON can't hold");
  if (typeof value === 'bigint') return look.never(path, `is the BigInt ${value}, which JSON can't hold`);
  const known = field && field.kind !== 'any' ? field : undefined;
  if (isObject(value) || Array.isArray(value)) {
    if (holders.includes(value)) return look.never(path, "contains itself, which JSON can't hold");
    const within = [...holders, value];
    if (Array.isArray(value)) {
      if (known && known.kind !== 'list') look.type(path, `is a list, not ${said(known)}`);
      for (const [at, element] of value.entries())
        visit(element ?? null, known?.element, `${path}/${at}`, look, within);
    } else {
      if (known && known.kind !== 'object') look.type(path, `is an object, not ${said(known)}`);
      visitFields(value, known?.fields, path, look, within);
    }
    return;
  }
  const fits = value === null ? known?.isNullable : known && typeof value === JSON_TYPE[known.kind];
  if (known && !fits) look.type(path, `is ${shown(value)}, not ${said(known)}`);
}

function visitFields(
  value: Readonly<Record<string, unknown>>,
  fields: Fields | undefined,
  path: string,
  look: Look,
  holders: Holders,
  except?: ReadonlySet<string>,
): void {
  for (const [name, { isOptional }] of Object.entries(fields ?? {}))
    if (!isOptional && !except?.has(name) && isLeftOut(value[name]))
      look.never(pointer(path, name), 'is undefined, but every document of the type has it');
  for (const [name, member] of Object.entries(value)) {
    const field = fields && Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!isLeftOut(member)) visit(member, field, pointer(path, name), look, holders);
  }
}

/** As JSON.stringify sees it. */
function asJson(value: unknown): unknown {
  const { toJSON } = isObject(value) ? value : {};
  return typeof toJSON === 'function' ? (toJSON.call(value, '') as unknown) : value;
}

const isLeftOut = (value: unknown): boolean =>
  value === undefined || typeof value === 'function' || typeof value === 'symbol';

/** As `typeof` says it; lists and objects are told apart before. */
const JSON_TYPE: Readonly<Partial<Record<FieldKind, string>>> = {
  text: 'string',
  moment: 'string',
  day: 'string',
  int: 'number',
  number: 'number',
  bool: 'boolean',
};

function said({ kind, isNullable }: Field): string {
  const name = kind === 'object' ? 'an object' : `a ${JSON_TYPE[kind] ?? kind}`;
  return isNullable ? `${name} or null` : name;
}

const pointer = (path: string, name: string): string => `${path}/${pointerPart(name)}`;
