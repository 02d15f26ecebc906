import type { CopySpec, DerivedSpec, Finding, SourceRef } from './kinds.ts';
import type { Options } from './types.ts';

/** A projection as its builder leaves it: the spec, and what is wrong with it for `definePipeline` to report. */
export type Declaration<S extends DerivedSpec = DerivedSpec> = S & { readonly findings: readonly Finding[] };

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const LAG = /^\d+(\.\d+)? ?(ms|s|min|h|d)$/;

export const error = (code: string, message: string, mend: string): Finding => ({
  code,
  severity: 'error',
  message,
  mend,
});

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
  const { from, into, version = 1, onDelete = 'remove', stable = false, maxLag } = spec;
  const findings = nameFindings(name, version);
  if (onDelete !== 'remove' && onDelete !== 'keep') {
    findings.push(error('on-delete', `Projection ${name} has onDelete ${String(onDelete)}`, 'Write remove or keep.'));
  }
  if (maxLag !== undefined && !LAG.test(maxLag)) {
    findings.push(
      error(
        'max-lag',
        `Projection ${name} has maxLag ${JSON.stringify(maxLag)}`,
        'Write a number with ms, s, min, h or d: 5 s.',
      ),
    );
  }
  if (from.container === into.container && from.type === into.type) {
    findings.push(
      error(
        'reads-what-it-writes',
        `Projection ${name} reads and writes ${ref(from)}, so it would feed itself`,
        'Write into another type.',
      ),
    );
  }
  const fields: Common = { name, version, from: plain(from), into: plain(into), onDelete, stable };
  return { fields: maxLag === undefined ? fields : { ...fields, maxLag }, findings };
}

type Common = Pick<CopySpec, 'name' | 'version' | 'from' | 'into' | 'onDelete' | 'stable' | 'maxLag'>;

export const ref = (of: SourceRef): string => `${of.container} (${of.type})`;
export const plain = ({ container, type }: SourceRef): SourceRef => ({ container, type });
