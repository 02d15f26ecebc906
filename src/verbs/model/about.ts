// Which container or projection of the document a finding is about, by the place that it names.
import type { Design } from '../../model/documents.ts';
import type { SourceLine } from '../../model/model.ts';
import type { RuleFinding } from '../../model/rules/rule.ts';

export interface About {
  /** The container in whose section, or in whose row of the mapping, the place is. */
  readonly container?: string;
  /** The projection whose row or heading the place is. */
  readonly projection?: string;
}

/** Of a finding: by its own place, else by the first related one that is within a container or a projection. */
export function aboutOf(design: Design | undefined): (finding: Pick<RuleFinding, 'at' | 'related'>) => About {
  if (!design) return () => ({});
  const rows = new Map(design.projections.map(({ name, at }) => [at.line, name]));
  const sections = design.containers.map(({ container: { name, at } }) => ({
    name,
    from: at.line,
    to: endOf(design.lines, at.line),
  }));
  const mapped = new Map(
    design.mapping.flatMap(({ at, containers: [name] }) => (name === undefined ? [] : [[at.line, name]])),
  );
  const at = ({ file, line }: SourceLine): About => {
    if (file !== design.file) return {};
    const projection = rows.get(line);
    if (projection !== undefined) return { projection };
    const container = sections.find(({ from, to }) => line >= from && line < to)?.name ?? mapped.get(line);
    return container === undefined ? {} : { container };
  };
  return (finding) => [finding.at, ...(finding.related ?? [])].map(at).find((of) => Object.keys(of).length > 0) ?? {};
}

/** The line of the next heading that isn't deeper, counted from 1; the end of the document without one. */
function endOf(lines: readonly string[], heading: number): number {
  const depth = (line: string | undefined): number => /^(#{1,6})\s/.exec(line ?? '')?.[1]?.length ?? 7;
  const own = depth(lines[heading - 1]);
  const next = lines.findIndex((line, index) => index >= heading && depth(line) <= Math.min(own, 6));
  return next < 0 ? lines.length + 1 : next + 1;
}
