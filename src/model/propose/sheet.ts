// What a document says of one container and of one request, and the section of the indexing strategy.
import { type ProposedDerived, lower } from './design.ts';
import type { Entity } from './needs.ts';

export interface ProposedSheet {
  readonly name: string;
  readonly purpose: string;
  readonly types: readonly string[];
  readonly key: string;
  readonly keyWhy: string;
  readonly values: number;
  readonly examples: readonly Readonly<Record<string, unknown>>[];
  /** Of the average document. */
  readonly bytes: number;
  readonly count: number;
  readonly serves: readonly string[];
  readonly paths: readonly string[] | undefined;
  readonly ttl: string | undefined;
  /** The part of the load that the largest key has. */
  readonly largest: number;
  /** Where the largest key's part is from. */
  readonly skew: string;
}

export const proposedList = (values: readonly string[]): string => values.join(', ');

export function indexing({ name, paths, serves }: ProposedSheet): string {
  const served = `- **Access Patterns Served**: ${proposedList(serves)}`;
  if (!paths) return `### ${name} Container\n- **Indexing Policy**: automatic\n- **Included Paths**: \`/*\`\n${served}`;
  return `### ${name} Container\n- **Indexing Policy**: selective\n- **Included Paths**: ${proposedList(paths.map((path) => `\`/${path}/?\``))}\n- **Excluded Paths**: \`/*\`\n${served}`;
}

/** A row of the projections; `home`: the container of the source. */
export function proposedProjection(
  { name, kind, from, container, type, group, serves, sums, stable }: ProposedDerived,
  home: string,
): string {
  const fixed = stable ? '; stable' : '';
  const key =
    kind === 'copy' ? `${group[0] ?? 'id'} = ${group[0] ?? 'id'}; id = id${fixed}` : `[${proposedList(group)}]${fixed}`;
  const fields =
    kind === 'copy' ? 'all' : [`documents = count`, ...sums.map((field) => `${field} = sum(${field})`)].join('; ');
  return `| ${name} | ${kind} | ${home} (${lower(from.name)}) | ${container} (${type}) | ${key} | ${fields} | ${proposedList(serves.map(({ id }) => `#${id}`))} | 30 s | ${kind === 'copy' ? 'remove' : 'subtract'} | backfill |`;
}

/** A container with copies beside its own documents. */
export const proposedTogether = (own: ProposedSheet, copies: ProposedSheet): ProposedSheet => ({
  ...own,
  purpose: `${own.purpose}, and ${copies.purpose.replace('; derived', ', written by a projection')}`,
  types: [...own.types, ...copies.types],
  values: Math.max(own.values, copies.values),
  examples: [...own.examples, ...copies.examples],
  bytes: (own.count * own.bytes + copies.count * copies.bytes) / (own.count + copies.count),
  count: own.count + copies.count,
  serves: [...new Set([...own.serves, ...copies.serves])],
  paths: own.paths && copies.paths && [...new Set([...own.paths, ...copies.paths])],
  largest: Math.max(own.largest, copies.largest),
  skew: own.largest >= copies.largest ? own.skew : copies.skew,
});

export interface ProposedPart {
  readonly operation: string;
  readonly notes: string;
  readonly ru: number;
}

export interface ProposedAccess {
  readonly entity: Entity;
  readonly key: string;
  /** The fields that the request knows. */
  readonly by: readonly string[];
  readonly select: string;
  readonly where: readonly string[];
  readonly tail: string;
  readonly rows: number;
  readonly limit?: number | undefined;
  readonly bytes: number;
}
