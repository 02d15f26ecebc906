import type { CopySpec, DerivedSpec, Finding, SourceRef } from './specs.ts';
import type { Options } from './types.ts';

/** A projection as its builder leaves it: the spec, and what is wrong with it for `definePipeline` to report. */
export type Declaration<S extends DerivedSpec = DerivedSpec> = S & { readonly findings: readonly Finding[] };

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const SPAN = /^(\d+(?:\.\d+)?) ?(ms|s|min|h|d)$/;
const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** A span of time such as `5 s` in milliseconds; undefined where it is none. */
export function milliseconds(span: string): number | undefined {
  const [, number, unit = ''] = SPAN.exec(span) ?? [];
  return number === undefined ? undefined : Number(number) * (UNITS[unit] ?? Number.NaN);
}

export const error = (code: string, message: string, mend: string): Finding => ({
  code,
  severity: 'error',
  message,
  mend,
});

/** Findings of one declaration, by its name. */
export const about = (of: string, findings: readonly Finding[]): Finding[] =>
  findings.map((finding) => ({ ...finding, of }));

/** A name becomes part of document ids, lease prefixes and blob names, hence the narrow alphabet and length. */
export function nameFindings(name: string, version: number): Finding[] {
  const findings: Finding[] = [];
  if (typeof name !== 'string' || !NAME.test(name) || name.length > 64) {
    findings.push(
      error(
        'projection-name',
        `Projection name ${JSON.stringify(name)} isn't made of a-z, 0-9 and single dashes (64 at most)`,
        'Give it a name such as store-days.',
      ),
    );
  }
  if (!Number.isSafeInteger(version) || version < 1) {
    findings.push(
      error('projection-version', `Projection ${name} has version ${version}`, 'Versions are whole numbers from 1 on.'),
    );
  }
  return findings;
}

/** The part every kind shares. */
export function common(
  name: string,
  spec: Options & { from: SourceRef; into: SourceRef },
): { fields: Common; findings: Finding[] } {
  const { from, into, version = 1, onDelete = 'remove', stable = false, maxLag, badIds } = spec;
  const findings = [...nameFindings(name, version), ...deleteFindings(name, onDelete), ...lagFindings(name, maxLag)];
  if (badIds !== undefined && badIds !== 'hash' && badIds !== 'park')
    findings.push(error('bad-ids', `Projection ${name} has badIds ${String(badIds)}`, 'Write hash or park.'));
  if (same(from, into)) {
    findings.push(
      error(
        'reads-what-it-writes',
        `Projection ${name} reads and writes ${ref(from)}, so it would feed itself`,
        'Write into another type.',
      ),
    );
  }
  const fields: Common = { name, version, from: plain(from), into: plain(into), onDelete, stable };
  return {
    fields: { ...fields, ...(maxLag !== undefined && { maxLag }), ...(badIds !== undefined && { badIds }) },
    findings,
  };
}

type Common = Pick<CopySpec, 'name' | 'version' | 'from' | 'into' | 'onDelete' | 'stable' | 'maxLag' | 'badIds'>;

export const deleteFindings = (name: string, onDelete: unknown, what = 'Projection'): Finding[] =>
  onDelete === 'remove' || onDelete === 'keep'
    ? []
    : [error('on-delete', `${what} ${name} has onDelete ${String(onDelete)}`, 'Write remove or keep.')];

export const lagFindings = (name: string, maxLag: string | undefined): Finding[] =>
  maxLag === undefined || milliseconds(maxLag) !== undefined
    ? []
    : [
        error(
          'max-lag',
          `Projection ${name} has maxLag ${JSON.stringify(maxLag)}`,
          'Write a number with ms, s, min, h or d: 5 s.',
        ),
      ];

export const same = (a: SourceRef, b: SourceRef): boolean => a.container === b.container && a.type === b.type;
export const ref = (of: SourceRef): string => `${of.container} (${of.type})`;
export const plain = ({ container, type }: SourceRef): SourceRef => ({ container, type });
