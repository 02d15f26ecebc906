import { UsageError } from '../../base/errors.ts';
import { type Pipeline, type ProjectionSpec, projectionId } from '../../definition/kinds.ts';
import { suggestion } from '../suggest.ts';

/** One declared version, told by `name` or `name@version`; of several versions and no number the one `prefer` says. */
export function chooseProjection(
  { projections }: Pick<Pipeline, 'projections'>,
  told: string,
  prefer: 'highest' | 'lowest' = 'highest',
  /** What else the verb takes, for whoever mistypes one of them. */
  others: readonly { readonly name: string }[] = [],
): ProjectionSpec {
  const found = projections
    .filter((spec) => spec.name === told || projectionId(spec) === told)
    .toSorted((a, b) => (prefer === 'highest' ? b.version - a.version : a.version - b.version))[0];
  if (found) return found;
  const name = told.split('@')[0] ?? told;
  const versions = projections.filter((spec) => spec.name === name).map(projectionId);
  const known = [...new Set([...projections, ...others].map((spec) => spec.name))];
  throw new UsageError(
    'projection-unknown',
    `There is no projection ${told}${versions.length > 0 ? '' : suggestion(name, known)}`,
    {
      mend:
        versions.length > 0
          ? `The pipeline declares ${versions.join(' and ')}. Declare another version beside them, with a container of its own.`
          : '`millrace projections list` lists them.',
    },
  );
}

/** `name@3` → name and 3; `name` → name alone. */
export function splitId(told: string): { name: string; version: number | undefined } {
  const [name = told, version] = told.split('@');
  return { name, version: version === undefined ? undefined : Number(version) };
}
