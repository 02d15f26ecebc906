import type { FunctionMetadata } from './core.ts';

export interface Route {
  readonly name: string;
  /** The path, without a slash at either end: `api/millrace/{noun?}/{verb?}`. */
  readonly template: string;
  /** Upper case; empty: any. */
  readonly methods: readonly string[];
  readonly authLevel: 'anonymous' | 'function' | 'admin';
}

export interface TriggerMatch {
  readonly route: Route;
  readonly params: Readonly<Record<string, string>>;
}

/** The routes of an app's HTTP functions. */
export function routesOf(functions: readonly FunctionMetadata[], prefix: string): Route[] {
  return functions.flatMap(({ name, bindings }) => {
    const trigger = Object.values(bindings).find(({ type }) => String(type).toLowerCase() === 'httptrigger');
    if (!trigger) return [];
    const { route = name, methods = [], authLevel = 'function' } = trigger;
    return {
      name,
      template: [prefix, String(route)].join('/').replaceAll(/^\/+|\/+$/g, ''),
      methods: (methods as string[]).map((method) => method.toUpperCase()),
      authLevel: authLevel as Route['authLevel'],
    };
  });
}

/**
 * Finds the function for a request. If none fits: the `methods` that fit the path. A literal segment goes before a
 * parameter, as in the Functions host.
 */
export function match(
  routes: readonly Route[],
  method: string,
  path: string,
): TriggerMatch | { readonly methods: readonly string[] } {
  const segments = path.split('/').filter(Boolean);
  const fitting = routes
    .flatMap((route) => {
      const found = fit(route.template.split('/').filter(Boolean), segments);
      return found ? [{ route, ...found }] : [];
    })
    .toSorted((a, b) => b.literals - a.literals);
  const chosen = fitting.find(({ route: { methods } }) => methods.length === 0 || methods.includes(method));
  return chosen ?? { methods: [...new Set(fitting.flatMap(({ route }) => route.methods))] };
}

function fit(
  template: readonly string[],
  segments: readonly string[],
): { params: Record<string, string>; literals: number } | undefined {
  const params: Record<string, string> = {};
  let literals = 0;
  for (const [at, part] of template.entries()) {
    const [, star, name = '', optional] = /^\{(\*)?([^}:?=]+)(?:[:=][^}?]*)?(\?)?\}$/.exec(part) ?? [];
    const given = segments[at];
    if (star) return { params: { ...params, [name]: segments.slice(at).map(decode).join('/') }, literals };
    if (name === '') {
      if (given?.toLowerCase() !== part.toLowerCase()) return undefined;
      literals += 1;
    } else if (given !== undefined) params[name] = decode(given);
    else if (!optional) return undefined;
  }
  return segments.length > template.length ? undefined : { params, literals };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
