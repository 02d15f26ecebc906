import { isReplayed } from '../../pipeline/kind-facts.ts';
import {
  type CustomSpec,
  type DerivedSpec,
  type EffectSpec,
  type EmbedSpec,
  type IngestSpec,
  type OutsideSpec,
  type Pipeline,
  type ProjectionSpec,
  type PublishSpec,
  type ReactSpec,
  type ReplayedSpec,
  isOutside,
  projectionId,
} from '../../pipeline/specs.ts';
import { feedReaders } from '../../pipeline/pipeline.ts';
import { touchedBy } from '../../pipeline/fields/touched.ts';
import type { Model } from '../../model/model.ts';
import { suggestion } from '../../base/near.ts';
import { sharedError } from '../../base/shared-errors.ts';

const LIST_PROJECTIONS = 'Run `millrace projections list` to see the names.';

/** Kinds without versions side by side: they write in place, or outside the account. */
type InPlace = Partial<Pick<Pipeline, 'embeds' | 'effects' | 'publishes' | 'ingests' | 'archives'>>;

/** What `rebuild` fills from its whole history. */
export type RebuiltSpec = ProjectionSpec | EmbedSpec | SinkSpec | ResetSpec;
/** A send whose sink can be filled beside its content. */
export type SinkSpec = OutsideSpec & { readonly to: Required<Pick<OutsideSpec['to'], 'rebuild'>> };
/** A custom projection that can forget. */
export type ResetSpec = CustomSpec & Required<Pick<CustomSpec, 'reset'>>;

const find = <S extends { readonly name: string; readonly version: number }>(
  specs: readonly S[],
  given: string,
): S | undefined => specs.find((spec) => spec.name === given || projectionId(spec) === given);

/**
 * A projection that can be filled from history: a version with its own sink, an embed in place, a send into another
 * content of its sink, a custom projection after its reset.
 * @throws UsageError `unsupported`, `not-found`
 */
export function chooseRebuilt(pipeline: Pipeline, given: string): RebuiltSpec {
  const effect = find(pipeline.effects, given);
  if (effect && isOutside(effect)) return withRebuild(effect);
  if (effect?.kind === 'custom') {
    if (isResettable(effect)) return effect;
    throw sharedError('unsupported', `${projectionId(effect)} declares no reset, so it can't be rebuilt`, {
      hint: `Declare what it forgets, reset: async ({ signal }) => …, and rebuild it again. Or apply its changes again without: \`millrace projections replay ${effect.name}\`.`,
    });
  }
  return find(pipeline.embeds, given) ?? chooseProjection(pipeline, given);
}

const isRebuildable = (spec: OutsideSpec): spec is SinkSpec => spec.to.rebuild !== undefined;
const isResettable = (spec: CustomSpec): spec is ResetSpec => spec.reset !== undefined;

/** @throws UsageError `unsupported` */
function withRebuild(spec: OutsideSpec): SinkSpec {
  if (isRebuildable(spec)) return spec;
  throw sharedError('unsupported', `The sink of ${projectionId(spec)} declares no rebuild`, {
    hint: `Add rebuild: { open, swap, drop } to the sink, for an index behind an alias (docs/projections.md#send). Or send its rows again: \`millrace projections replay ${spec.name}\`.`,
  });
}

/** A send whose sink is being filled beside its content, for `promote` and `drop`; undefined: no send has this name. */
export function findSink({ effects }: Pipeline, given: string): SinkSpec | undefined {
  const found = find(effects, given);
  return found && isOutside(found) ? withRebuild(found) : undefined;
}

/**
 * A projection that can get changes again.
 * @throws UsageError `unsupported`, `not-found`
 */
export function chooseReplayed(pipeline: Pipeline, given: string): ReplayedSpec {
  const { embeds, effects, publishes } = pipeline;
  const found = find([...embeds, ...effects, ...publishes], given);
  if (!found) return chooseProjection(pipeline, given);
  if (isReplayed(found)) return found;
  throw sharedError(
    'unsupported',
    `${projectionId(found)} is a reaction, so it runs again only for documents that you list`,
    {
      hint: `Run \`millrace projections rerun ${found.name} --key '["…"]' --ids a,b --dry-run\`.`,
    },
  );
}

/**
 * A projection that keeps a record of its effects for each document, because others write into the documents too.
 * @throws UsageError `unsupported`, `not-found`
 */
export function chooseNoted(pipeline: Pipeline, model: Model, given: string): ReplayedSpec {
  const found = find([...pipeline.effects, ...pipeline.publishes], given) ?? chooseReplayed(pipeline, given);
  const isEffect = pipeline.effects.some((spec) => spec === found) || found.kind === 'publish';
  if (isEffect && touchedBy(found as EffectSpec | PublishSpec, pipeline, model)) return found;
  throw sharedError('unsupported', `${projectionId(found)} keeps no records of its effects`, {
    hint: 'Name a projection with effects, and in `source()` the fields that others write: ignore.',
  });
}

/** A reaction. */
export function chooseReaction(pipeline: Pipeline, given: string): ReactSpec {
  const reactions = pipeline.effects.filter((spec) => spec.kind === 'react');
  const found = find(reactions, given);
  if (found) return found;
  const other = find([...feedReaders(pipeline), ...pipeline.ingests], given);
  if (other) {
    throw sharedError('unsupported', `${projectionId(other)} is ${an(other.kind)}, not a reaction`, {
      hint: `Run \`millrace projections replay ${other.name} --dry-run\`.`,
    });
  }
  const known = reactions.map(({ name }) => name);
  throw sharedError('not-found', `There is no reaction ${given}${suggestion(given, known)}`, {
    hint: LIST_PROJECTIONS,
  });
}

/** Where a projection writes, for messages. */
export function projectionTargetOf(spec: ReplayedSpec): string {
  if (spec.kind === 'publish') return `event hub ${spec.to}`;
  if (spec.kind === 'send') return `the sink of ${spec.name}`;
  if (spec.kind === 'table') return `the tables of ${spec.name}`;
  if (spec.kind === 'react') return `the effects of ${spec.name}`;
  return spec.kind === 'custom' ? `the data of ${spec.name}` : spec.into.container;
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
    throw sharedError(
      'unsupported',
      `${projectionId(other)} is ${an(other.kind)}, which has no versions side by side`,
      {
        hint:
          other.kind === 'embed'
            ? `Fill it in place with \`millrace projections rebuild ${other.name}\`, or repair it with \`millrace projections verify ${other.name} --repair\`.`
            : other.kind === 'publish'
              ? `Publish its changes again with \`millrace projections replay ${other.name}\`.`
              : 'Run `millrace projections list` to see which projections have versions. Hosts run this one as pipeline.ts has it.',
      },
    );
  }
  const versions = projections.filter((spec) => spec.name === name).map(projectionId);
  const known = [...new Set([...projections, ...beside, ...others].map((spec) => spec.name))];
  throw sharedError(
    'not-found',
    `There is no projection ${given}${versions.length > 0 ? '' : suggestion(name, known)}`,
    {
      hint:
        versions.length > 0
          ? `Name ${versions.join(' or ')}, or declare another version with its own container.`
          : LIST_PROJECTIONS,
    },
  );
}

const an = (kind: string): string => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;

/** `name@3` → name and 3; `name` → name alone. */
export function splitId(given: string): { name: string; version: number | undefined } {
  const [name = given, version] = given.split('@');
  return { name, version: version === undefined ? undefined : Number(version) };
}
