import type { IndexingPolicy } from './model.ts';

/** `/a/b/?` and `/a/*` as the dotted field they begin with. */
export const fieldOf = (path: string): string =>
  path
    .replace(/^\//, '')
    .replace(/\/(\?|\*)$/, '')
    .replaceAll('/[]', '')
    .replaceAll(/"/g, '')
    .replaceAll('/', '.');

/**
 * Whether a policy indexes a field, written with dots: the most precise of the lists' paths wins. An element's number is no
 * step of a path. Without a policy every field is indexed.
 */
export function isIndexed(policy: IndexingPolicy | undefined, path: string): boolean {
  if (!policy) return true;
  const field = path.replaceAll(/\.\d+(?=\.|$)/g, '');
  const reach = (paths: readonly { readonly path: string }[] = []): number =>
    Math.max(
      -1,
      ...paths.map(({ path: each }) => {
        const own = fieldOf(each);
        if (each === '/*') return 0;
        const covers = each.endsWith('*') ? field === own || field.startsWith(`${own}.`) : field === own;
        return covers ? own.length + (each.endsWith('?') ? 1 : 0) : -1;
      }),
    );
  return (
    policy.indexingMode !== 'none' &&
    reach(policy.includedPaths) >= reach(policy.excludedPaths) &&
    reach(policy.includedPaths) >= 0
  );
}
