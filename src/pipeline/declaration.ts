import type { Model } from '../model/model.ts';
import type { CopySpec, DerivedSpec, Doc, Finding, Pipeline, SourceRef } from './specs.ts';
import { GLOBAL, type Options } from './types.ts';

/** What a builder returns: the projection's spec, and the findings that `definePipeline` reports. */
export type Declaration<S extends DerivedSpec = DerivedSpec> = S & { readonly findings: readonly Finding[] };

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SPAN = /^(\d+(?:\.\d+)?) ?(ms|s|min|h|d)$/;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** A span of time such as `5 s`, in milliseconds; undefined if the text isn't one. */
export function milliseconds(span: string): number | undefined {
  const [, number, unit = ''] = SPAN.exec(span) ?? [];
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? Number.NaN);
}

const SIZE = /^(\d+(?:\.\d+)?) ?(B|KB|MB)$/;
const SIZES: Readonly<Record<string, number>> = { B: 1, KB: 1e3, MB: 1e6 };

/** A size such as `100 KB`, in bytes; undefined if the text isn't one. */
export function bytes(size: string): number | undefined {
  const [, number, unit = ''] = SIZE.exec(size) ?? [];
  return number === undefined ? undefined : Number(number) * (SIZES[unit] ?? Number.NaN);
}

export const error = (code: string, message: string, hint: string): Finding => ({
  code,
  severity: 'error',
  message,
  hint,
});

/** The findings with the name of their declaration. */
export const about = (of: string, findings: readonly Finding[]): Finding[] =>
  findings.map((finding) => ({ ...finding, of }));

/** A name becomes part of document ids, lease prefixes and blob names, so few characters are allowed, and the length is limited. */
export function nameFindings(name: string, version: number): Finding[] {
  const findings: Finding[] = [];
  if (typeof name !== 'string' || !NAME.test(name) || name.length > 64) {
    findings.push(
      error(
        'projection-name',
        `Projection name ${JSON.stringify(name)} isn't valid: use a-z, 0-9 and single dashes, 64 characters at most`,
        'Write a name such as store-days.',
      ),
    );
  }
  if (!Number.isSafeInteger(version) || version < 1) {
    findings.push(
      error(
        'projection-version',
        `Projection ${name} has version ${version}, which isn't valid`,
        'Write a whole number from 1 on.',
      ),
    );
  }
  return findings;
}

/** The fields that copies, aggregates and references share. */
export function common(
  name: string,
  spec: Options & { from: SourceRef; into: SourceRef },
): { fields: Common; findings: Finding[] } {
  const { from, into, version = 1, onDelete = 'remove', stable = false, acrossTenants, maxLag, badIds } = spec;
  const findings = [
    ...nameFindings(name, version),
    ...deleteFindings(name, onDelete),
    ...lagFindings(name, maxLag),
    ...onlyBeginning(name, spec.start),
  ];
  if (badIds !== undefined && badIds !== 'hash' && badIds !== 'park')
    findings.push(
      error('bad-ids', `Projection ${name} has badIds ${String(badIds)}, which isn't valid`, 'Write hash or park.'),
    );
  if (same(from, into)) {
    findings.push(
      error(
        'reads-what-it-writes',
        `Projection ${name} reads and writes ${ref(from)}, so its writes would be its own changes`,
        'Write into another type.',
      ),
    );
  }
  const fields: Common = { name, version, from: plain(from), into: plain(into), onDelete, stable };
  return {
    fields: {
      ...fields,
      ...(acrossTenants === true && { acrossTenants }),
      ...(maxLag !== undefined && { maxLag }),
      ...(badIds !== undefined && { badIds }),
      ...(isGlobal(into) && { toGlobal: true as const }),
    },
    findings,
  };
}

type Common = Pick<
  CopySpec,
  'name' | 'version' | 'from' | 'into' | 'onDelete' | 'stable' | 'acrossTenants' | 'maxLag' | 'badIds' | 'toGlobal'
>;

export const deleteFindings = (name: string, onDelete: unknown, what = 'Projection'): Finding[] =>
  onDelete === 'remove' || onDelete === 'keep'
    ? []
    : [
        error(
          'on-delete',
          `${what} ${name} has onDelete ${String(onDelete)}, which isn't valid`,
          'Write remove or keep.',
        ),
      ];

/** For the kinds whose documents are compared with what all of the source documents give. */
export function onlyBeginning(name: string, given: unknown): Finding[] {
  if (given === undefined || given === 'beginning') return [];
  const message = `Projection ${name} has start ${JSON.stringify(given)}, but it derives from every source document: without those before its start its documents would be wrong`;
  return [error('start-later', message, 'Remove start. To leave documents out by their content, use where.')];
}

export const lagFindings = (name: string, maxLag: string | undefined): Finding[] =>
  maxLag === undefined || milliseconds(maxLag) !== undefined
    ? []
    : [
        error(
          'max-lag',
          `Projection ${name} has maxLag ${JSON.stringify(maxLag)}, which isn't a span of time`,
          'Write a number and ms, s, min, h or d, such as 5 s.',
        ),
      ];

/** Whether a type was named as `global(…)`. */
export const isGlobal = (of: SourceRef): boolean => GLOBAL in of;

export const same = (a: SourceRef, b: SourceRef): boolean => a.container === b.container && a.type === b.type;
export const ref = (of: SourceRef): string => `${of.container} (${of.type})`;
export const plain = ({ container, type }: SourceRef): SourceRef => ({ container, type });

/** The model's examples of documents that no projection writes, by container. */
export function sourceExamples(
  { projections }: Pick<Pipeline, 'projections'>,
  { containers }: Model,
): { readonly container: string; readonly examples: readonly Doc[] }[] {
  return containers.flatMap(({ name, types }) => {
    const own = types.filter(
      (type) => !projections.some(({ into }) => into.container === name && into.type === type.name),
    );
    return own.length === 0 ? [] : [{ container: name, examples: own.flatMap(({ examples }) => examples) }];
  });
}
