import type { FunctionMetadata } from './core.ts';
import type { Keys } from './keys.ts';
import type { Route } from './routes.ts';

const RUN_HERE = new Set(['cosmosdbtrigger', 'eventhubtrigger', 'timertrigger', 'httptrigger']);

/** The functions of an app in the form of Core Tools: addresses, then triggers, then the keys. */
export function listing(
  functions: readonly FunctionMetadata[],
  routes: readonly Route[],
  { port, keys }: { port: number; keys: Keys },
): string[] {
  const addresses = routes.map(
    ({ name, template, methods }) => `\t${name}: [${methods.join(',') || 'ANY'}] http://localhost:${port}/${template}`,
  );
  const triggers = functions.flatMap(({ name, bindings }) => {
    const type = String(Object.values(bindings).find(({ direction }) => direction === 'in')?.['type']);
    if (type.toLowerCase() === 'httptrigger') return [];
    return `\t${name}: ${type}${RUN_HERE.has(type.toLowerCase()) ? '' : ' (not run by this host)'}`;
  });
  const guarded = routes.filter(({ authLevel }) => authLevel === 'function');
  const secrets = guarded.map(({ name }) => `\t${name}: ${keys.of(name)}`);
  return [
    '',
    'Functions:',
    '',
    ...[...addresses, ...triggers].flatMap((line) => [line, '']),
    ...(secrets.length > 0 ? ['Keys, for the header x-functions-key or ?code=:', '', ...secrets, ''] : []),
  ];
}
