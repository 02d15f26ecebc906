import { UsageError } from '../../base/errors.ts';
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

/** What has no version that could be built beside another: it writes in place, or outside of the account. */
type InPlace = Partial<Pick<Pipeline, 'embeds' | 'effects' | 'publishes' | 'ingests' | 'archives'>>;

/** What can be filled from history: a version with a sink of its own, or an embed, in place. */
export function chooseRebuilt(pipeline: Pipeline, told: string): ProjectionSpec | EmbedSpec {
  const embed = pipeline.embeds.find((spec) => spec.name === told || projectionId(spec) === told);
  return embed ?? chooseProjection(pipeline, told);
}

/** Anything declared, not what has versions alone. */
export function chooseDeclared(pipeline: Pipeline, told: string): DerivedSpec | IngestSpec {
  const { projections } = pipeline;
  const inPlace = [...feedReaders({ ...pipeline, projections: [] }), ...pipeline.ingests];
  const found = inPlace.find((spec) => spec.name === told || projectionId(spec) === told);
  return found ?? chooseProjection({ projections }, told, 'highest', inPlace);
}

/** One declared version, told by `name` or `name@version`; of several versions and no number the one `prefer` says. */
export function chooseProjection(
  { projections, ...inPlace }: Pick<Pipeline, 'projections'> & InPlace,
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
  const { embeds = [], effects = [], publishes = [], ingests = [], archives = [] } = inPlace;
  const beside = [...embeds, ...effects, ...publishes, ...ingests, ...archives];
  const other = beside.find((spec) => spec.name === told || projectionId(spec) === told);
  if (other) {
    throw new UsageError(
      'projection-in-place',
      `${projectionId(other)} is ${an(other.kind)}: there are no versions of it side by side`,
      {
        mend:
          other.kind === 'embed'
            ? `It writes in place: \`millrace projections rebuild ${other.name}\` fills it in from history, \`verify ${other.name} --repair\` puts it right.`
            : 'Hosts run it as it is declared; `millrace projections list` shows what has versions.',
      },
    );
  }
  const versions = projections.filter((spec) => spec.name === name).map(projectionId);
  const known = [...new Set([...projections, ...beside, ...others].map((spec) => spec.name))];
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

const an = (kind: string): string => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;

/** `name@3` → name and 3; `name` → name alone. */
export function splitId(told: string): { name: string; version: number | undefined } {
  const [name = told, version] = told.split('@');
  return { name, version: version === undefined ? undefined : Number(version) };
}
