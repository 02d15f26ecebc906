import { type Folds, foldsOf } from './builders/measures.ts';
import type { EmbedSpec, ProjectionSpec } from './specs.ts';

/**
 * Index paths of the sink containers that Millrace's own queries filter or order by. In Cosmos DB `ORDER BY` on a path
 * without an index is an error, and a filter on such a path is a scan. So `model apply` includes these paths even if the
 * document's indexing policy leaves them out.
 */
export function indexNeeds(projections: readonly (ProjectionSpec | EmbedSpec)[]): Map<string, Set<string>> {
  const needs = new Map<string, Set<string>>();
  for (const projection of projections) {
    const paths = needs.get(projection.into.container) ?? new Set<string>();
    for (const path of pathsOf(projection)) paths.add(path);
    needs.set(projection.into.container, paths);
  }
  return needs;
}

/** What a query for the next value orders by, within what a contribution keeps of a measure. */
const ORDERED: Readonly<Record<Folds, string | undefined>> = {
  rows: undefined,
  sum: undefined,
  'hidden-sum': undefined,
  counts: undefined,
  values: undefined,
  least: '',
  greatest: '',
  best: '/best',
};

function pathsOf(projection: ProjectionSpec | EmbedSpec): string[] {
  if (projection.kind === 'embed') {
    // The children of a parent that changed.
    const { on, each } = projection;
    const elements = Object.values(each?.on ?? {}).map(
      (field) => `/${quoted(each?.field ?? '')}/[]/${quoted(field)}/?`,
    );
    return ['/type/?', ...Object.values(on).map((field) => `/${quoted(field)}/?`), ...elements];
  }
  if (projection.kind === 'reference') return [];
  if (projection.kind === 'copy') {
    // The refresh of copies after a change of a joined document.
    const joins = projection.joins.flatMap(({ name }) => [
      `/_mr/joins/${quoted(name)}/ref/?`,
      `/_mr/joins/${quoted(name)}/mark/?`,
    ]);
    return joins.length > 0 ? ['/_mr/by/?', ...joins] : [];
  }
  // When the contribution with the extreme value is removed, a query finds the next one.
  const asked = Object.entries(projection.measures).flatMap(([field, measure]) => {
    const path = ORDERED[foldsOf(measure)];
    return path === undefined ? [] : [`/values/m/${quoted(field)}${path}/?`];
  });
  return asked.length > 0 ? ['/by/?', '/of/?', ...asked] : [];
}

const quoted = (name: string): string => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? name : JSON.stringify(name));
