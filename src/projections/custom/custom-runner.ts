import { type Declaration, error, nameFindings, plain } from '../../definition/declaration.ts';
import type { CustomSpec, SourceRef } from '../../definition/specs.ts';
import type { Runner } from '../runner.ts';

export interface CustomOptions {
  /** The document types whose changes it wants: `[m.Orders.order]`. */
  readonly sources: readonly SourceRef[];
  readonly version?: number;
  /**
   * Takes some changes of one page, all of these types. They may come again, late, in pieces, or while another host still
   * works on them, so whatever is written must carry its condition: `session.commit` takes no blind write. Resolves when
   * all effects are durable; throws `Poison` for changes it can never apply, anything else to be given the page again.
   */
  readonly apply: Runner['apply'];
}

/** A projection by a runner of one's own, where none of the kinds will do. */
export function custom(name: string, { sources, version = 1, apply }: CustomOptions): Declaration<CustomSpec> {
  const findings = [...nameFindings(name, version)];
  if (!Array.isArray(sources) || sources.length === 0)
    findings.push(error('custom-sources', `Projection ${name} has no sources`, 'Give it sources: [m.Orders.order].'));
  if (typeof apply !== 'function')
    findings.push(
      error('custom-apply', `Projection ${name} applies nothing`, 'Give it apply: async (changes, session) => ….'),
    );
  return {
    kind: 'custom',
    name,
    version,
    sources: (sources ?? []).map(plain),
    apply,
    findings,
  };
}
