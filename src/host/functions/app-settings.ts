import { UsageError } from '../../base/errors.ts';

/** A binding as the library hands it to the host: its options, with `%NAME%` for a setting's value. */
export type Binding = Readonly<Record<string, unknown>>;

/** What each kind of binding's connection is called when it goes by identity. */
const IDENTITY: Readonly<Record<string, readonly string[]>> = {
  cosmosdbtrigger: ['accountEndpoint'],
  eventhubtrigger: ['fullyQualifiedNamespace'],
  default: ['accountEndpoint', 'fullyQualifiedNamespace', 'serviceUri', 'blobServiceUri'],
};
const CONNECTIONS = ['connection', 'leaseConnection'] as const;

/** A setting that a binding names: itself, or with one of the suffixes by which the host signs in with an identity. */
export interface NamedSetting {
  readonly name: string;
  readonly or: readonly string[];
}

/** Every setting that a binding names, each once. */
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

/** One error for all settings that bindings name and the environment lacks; undefined where it lacks none. */
export function missingSettings(
  bindings: readonly Binding[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): UsageError | undefined {
  const missing = settingsOf(bindings).filter(({ name, or }) => ![name, ...or].some((each) => environment[each]));
  if (missing.length === 0) return undefined;
  const names = missing.map(({ name, or }) => [name, ...or].join(' or '));
  const what = names.length === 1 ? `The setting ${names[0]} is missing` : `Settings are missing: ${names.join('; ')}`;
  return new UsageError('setting-missing', `${what}; the triggers name ${names.length === 1 ? 'it' : 'them'}`, {
    mend: 'On this machine they belong into "Values" of local.settings.json (see local.settings.example.json), in Azure into the app settings, where infra/ puts them.',
  });
}
