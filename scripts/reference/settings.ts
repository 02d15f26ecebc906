// docs/reference/settings.md: every setting, from the schema that reads them, and the variables that are read beside it.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeSettings } from '../../src/base/settings.ts';
import { code, table, written } from './text.ts';

interface Limits {
  readonly default?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly const?: string;
}

/** Variables that no schema names, because they are read before the settings or without an account. */
const BESIDE: Readonly<Record<string, string>> = {
  MILLRACE_PIPELINE: 'The pipeline folder, where no `--pipeline` is given.',
  MILLRACE_AUTH:
    'Of the function app: `entra` asks for a signed-in caller with a role, beside the key ([HTTP](../functions.md#http)). Default `key`.',
  MILLRACE_PROBES_ADDRESS: 'The address at which `millrace run --probes PORT` listens. Default `127.0.0.1`.',
  MILLRACE_DASHBOARD_ADDRESS: 'The address at which the [dashboard](../dashboard.md) listens. Default `127.0.0.1`.',
  MILLRACE_DASHBOARD_TOKEN: 'The token of the dashboard’s operators, at least 16 characters.',
  MILLRACE_DASHBOARD_READER_TOKEN: 'The token of the dashboard’s readers, who see everything and change nothing.',
};

/** Codes of warnings that a process emits have the form of variables. */
const WARNING = /_FAILED$/;

export function settingsPage(): string {
  const lacking = named().filter((name) => !Object.hasOwn(BESIDE, name));
  if (lacking.length > 0) throw new Error(`scripts/reference/settings.ts doesn't explain ${lacking.join(', ')}`);
  return `${written('src/base/settings.ts')}# Settings

Every environment variable that Millrace reads. [Settings](../settings.md) says which of them you need when. With \`--env NAME\` they also come from \`millrace.NAME.env\`; a variable of the environment goes first. An empty variable counts as not set.

${table(
  ['setting', 'default', 'values', 'meaning'],
  describeSettings().map(({ name, hint, schema }) => [code(name), ...limits(schema), hint]),
)}
## Beside the settings of an account
${table(
  ['variable', 'meaning'],
  Object.entries(BESIDE).map(([name, meaning]) => [code(name), meaning]),
)}`;
}

const shown = (value: string | undefined): string => (value === undefined ? '' : code(value));

const limits = ({ default: fallback, minimum, maximum, const: only }: Limits): [string, string] => [
  shown(fallback),
  only === undefined
    ? minimum === undefined
      ? ''
      : `${minimum.toLocaleString('en')} to ${maximum?.toLocaleString('en')}`
    : shown(only),
];

function named(): string[] {
  const root = join(import.meta.dirname, '../..');
  const texts = globSync(['src/**/*.ts', 'bin/*.mjs'], { cwd: root }).map((file) =>
    readFileSync(join(root, file), 'utf8'),
  );
  const names = texts.flatMap((text) => [...text.matchAll(/\bMILLRACE_[A-Z_]+\b/g)].map(([name]) => name));
  return [...new Set(names)].filter((name) => !WARNING.test(name));
}
