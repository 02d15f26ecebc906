import {
  type DerivedSpec,
  type EmbedSpec,
  type IngestSpec,
  type Pipeline,
  type ProjectionSpec,
  projectionId,
} from '../../definition/specs.ts';
import { feedReaders } from '../../definition/pipeline.ts';
import { suggestion } from '../../base/near.ts';
import { OPERATIONS_ERRORS, operationsError } from '../errors.ts';

/** Kinds without versions side by side: they write in place, or outside the account. */
type InPlace = Partial<Pick<Pipeline, 'embeds' | 'effects' | 'publishes' | 'ingests' | 'archives'>>;

/** A projection that can be filled from history: a version with its own sink, or an embed, in place. */
export function chooseRebuilt(pipeline: Pipeline, given: string): ProjectionSpec | EmbedSpec {
  const embed = pipeline.embeds.find((spec) => spec.name === given || projectionId(spec) === given);
  return embed ?? chooseProjection(pipeline, given);
}

/** Any declared projection, publish, ingest or archive. */
export function chooseDeclared(pipeline: Pipeline, given: string): DerivedSpec | IngestSpec {
  const { projections } = pipeline;
  const inPlace = [...feedReaders({ ...pipeline, projections: [] }), ...pipeline.ingests];
  const found = inPlace.find((spec) => spec.name === given || projectionId(spec) === given);
  return found ?? chooseProjection({ projections }, given, 'highest', inPlace);
}

/** The declared version of `name@version`, or of `name` the one that `prefer` names. */
export function chooseProjection(
  { projections, ...inPlace }: Pick<Pipeline, 'projections'> & InPlace,
  given: string,
  prefer: 'highest' | 'lowest' = 'highest',
  /** What else the verb accepts, for the suggestion of a similar name. */
  others: readonly { readonly name: string }[] = [],
): ProjectionSpec {
  const found = projections
    .filter((spec) => spec.name === given || projectionId(spec) === given)
    .toSorted((a, b) => (prefer === 'highest' ? b.version - a.version : a.version - b.version))[0];
  if (found) return found;
  const name = given.split('@')[0] ?? given;
  const { embeds = [], effects = [], publishes = [], ingests = [], archives = [] } = inPlace;
  const beside = [...embeds, ...effects, ...publishes, ...ingests, ...archives];
  const other = beside.find((spec) => spec.name === given || projectionId(spec) === given);
  if (other) {
    throw operationsError(
      'projection-in-place',
      `${projectionId(other)} is ${an(other.kind)}, which has no versions side by side`,
      {
        hint:
          other.kind === 'embed'
            ? `Fill it in place with \`millrace projections rebuild ${other.name}\`, or repair it with \`millrace projections verify ${other.name} --repair\`.`
            : 'Run `millrace projections list` to see which projections have versions. Hosts run this one as it is declared.',
      },
    );
  }
  const versions = projections.filter((spec) => spec.name === name).map(projectionId);
  const known = [...new Set([...projections, ...beside, ...others].map((spec) => spec.name))];
  throw operationsError(
    'projection-unknown',
    `There is no projection ${given}${versions.length > 0 ? '' : suggestion(name, known)}`,
    {
      hint:
        versions.length > 0
          ? `Name ${versions.join(' or ')}, or declare another version with its own container.`
          : OPERATIONS_ERRORS['projection-unknown'].hint,
    },
  );
}

const an = (kind: string): string => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;

/** `name@3` → name and 3; `name` → name alone. */
export function splitId(given: string): { name: string; version: number | undefined } {
  const [name = given, version] = given.split('@');
  return { name, version: version === undefined ? undefined : Number(version) };
}
