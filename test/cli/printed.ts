// Holds what a verb prints with --json to its schema in docs/schemas/, which `npm run reference` writes.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const SCHEMAS = join(import.meta.dirname, '../../docs/schemas');

/** By file, once it was read. */
const known = new Map<string, z.ZodType>();

function schemaOf([first = '', second = '', third = '']: readonly string[]): z.ZodType | undefined {
  const name = [`${first}-${second}-${third}.json`, `${first}-${second}.json`, `${first}.json`].find((file) =>
    existsSync(join(SCHEMAS, file)),
  );
  if (name === undefined) return undefined;
  const schema = known.get(name) ?? z.fromJSONSchema(JSON.parse(readFileSync(join(SCHEMAS, name), 'utf8')) as never);
  known.set(name, schema);
  return schema;
}

/** What can be printed in place of a result: `millrace schema --help` lists it. */
const other = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && ('error' in value || 'places' in value);

/** Why what was printed isn't what the schema says; undefined: it is, or it is no single result. */
export function misprinted(args: readonly string[], stdout: string): string | undefined {
  if (!args.includes('--json') || args.includes('--dry-run') || args.includes('--watch')) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch {
    return undefined;
  }
  const schema = other(value) ? undefined : schemaOf(args);
  const result = schema?.safeParse(value);
  if (!result || result.success) return undefined;
  return `millrace ${args.join(' ')} printed what is not in its schema:\n${z.prettifyError(result.error)}\n${stdout.slice(0, 2_000)}`;
}
