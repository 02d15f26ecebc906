import { type Declaration, error, nameFindings, plain } from '../../pipeline/declaration.ts';
import type { CustomSpec, ResetScope, SourceRef } from '../../pipeline/specs.ts';
import { type StartOption, startFields } from '../../pipeline/start.ts';
import type { Runner } from '../runner.ts';

export interface CustomOptions {
  /** The document types whose changes it takes: `[m.Orders.order]`. */
  readonly sources: readonly SourceRef[];
  /** A whole number from 1 on; default 1. Another version is another projection with its own state. */
  readonly version?: number;
  /**
   * Where it begins: `beginning` (default), `now`, or a time such as `2026-06-03T12:00:00Z`. `now` is when the first host
   * that declares it starts. Recorded once for a version; documents that change afterwards count, whatever their age.
   */
  readonly start?: StartOption;
  /**
   * False: it doesn't get a version that differs from the one before in nothing but fields that `source()` ignores. A
   * record for each document remembers that. Default true.
   */
  readonly echoes?: boolean;
  /**
   * Takes some changes of one page, all of these types. They may come again, late, in parts, or while another host still
   * processes them, so each write needs a condition: `access.commit` takes no unconditional write. It must resolve only
   * when all effects are durable. It throws `Poison` for changes that it can never apply; after any other error Millrace
   * reads the page again.
   */
  readonly apply: Runner['apply'];
  /**
   * Removes everything that the runner has derived, before `projections rebuild` gives it its whole history again. It may
   * be called again after a crash. Without it Millrace can't rebuild this projection.
   */
  readonly reset?: (scope: ResetScope) => Promise<void>;
}

/** A projection with a runner of your own, for what no other kind can do. */
export function custom(
  name: string,
  { sources, version = 1, echoes, apply, reset, start }: CustomOptions,
): Declaration<CustomSpec> {
  const { findings: wrong, ...started } = startFields(name, start);
  const findings = [...nameFindings(name, version), ...wrong];
  if (!Array.isArray(sources) || sources.length === 0)
    findings.push(error('custom-sources', `Projection ${name} has no sources`, 'Give it sources: [m.Orders.order].'));
  if (typeof apply !== 'function')
    findings.push(
      error('custom-apply', `Projection ${name} has no function apply`, 'Give it apply: async (changes, access) => ….'),
    );
  return {
    kind: 'custom',
    name,
    version,
    sources: (sources ?? []).map(plain),
    ...started,
    ...(echoes === false && { echoes }),
    apply,
    ...(reset && { reset }),
    findings,
  };
}
