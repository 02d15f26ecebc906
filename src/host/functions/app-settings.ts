import type { UsageError } from '../../base/errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** A binding as the library passes it to the Functions host: its options, with `%NAME%` for the value of a setting. */
export type Binding = Readonly<Record<string, unknown>>;

/** Suffixes of a connection's settings if it uses an identity, by type of binding. */
const IDENTITY: Readonly<Record<string, readonly string[]>> = {
  cosmosdbtrigger: ['accountEndpoint'],
  eventhubtrigger: ['fullyQualifiedNamespace'],
  default: ['accountEndpoint', 'fullyQualifiedNamespace', 'serviceUri', 'blobServiceUri'],
};
const CONNECTIONS = ['connection', 'leaseConnection'] as const;

/** A setting that a binding names: `name` itself, or one of `or`, by which the Functions host signs in with an identity. */
export interface NamedSetting {
  readonly name: string;
  readonly or: readonly string[];
}

/** Every setting that bindings name, each once. */
export function settingsOf(bindings: readonly Binding[]): NamedSetting[] {
  const found = new Map<string, NamedSetting>();
  for (const binding of bindings) {
    for (const value of Object.values(binding)) {
      for (const [, name = ''] of typeof value === 'string' ? value.matchAll(/%([^%]+)%/g) : [])
        found.set(name, { name, or: [] });
    }
    const suffixes = IDENTITY[String(binding['type']).toLowerCase()] ?? IDENTITY['default'] ?? [];
    for (const field of CONNECTIONS) {
      const name = binding[field];
      if (typeof name === 'string') found.set(name, { name, or: suffixes.map((suffix) => `${name}__${suffix}`) });
    }
  }
  return [...found.values()];
}

/** One error for all settings that bindings name and the environment lacks; undefined if none is missing. */
export function missingSettings(
  bindings: readonly Binding[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): UsageError | undefined {
  const missing = settingsOf(bindings).filter(({ name, or }) => ![name, ...or].some((each) => environment[each]));
  if (missing.length === 0) return undefined;
  const names = missing.map(({ name, or }) => [name, ...or].join(' or '));
  const what = names.length === 1 ? `The setting ${names[0]} is missing` : `Settings are missing: ${names.join('; ')}`;
  return sharedError('setting-missing', `${what}; the triggers name ${names.length === 1 ? 'it' : 'them'}`, {
    hint: 'Put them into "Values" of local.settings.json (see local.settings.example.json), or in Azure into the app settings; infra/ does this.',
  });
}
