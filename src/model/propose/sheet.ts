// What a document says of one container and of one request, and the section of the indexing strategy.
import type { Entity } from './needs.ts';

export interface Sheet {
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
}

export const list = (values: readonly string[]): string => values.join(', ');

export function indexing({ name, paths, serves }: Sheet): string {
  const served = `- **Access Patterns Served**: ${list(serves)}`;
  if (!paths) return `### ${name} Container\n- **Indexing Policy**: automatic\n- **Included Paths**: \`/*\`\n${served}`;
  return `### ${name} Container\n- **Indexing Policy**: selective\n- **Included Paths**: ${list(paths.map((path) => `\`/${path}/?\``))}\n- **Excluded Paths**: \`/*\`\n${served}`;
}

export interface Part {
  readonly operation: string;
  readonly notes: string;
  readonly ru: number;
}

export interface Asked {
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
