import { sharedError } from '../../base/shared-errors.ts';
import type { UsageError } from '../../base/errors.ts';
import { KIND_FACTS } from '../../pipeline/kind-facts.ts';
import { type OutsideSpec, type Pipeline, isOutside, projectionId } from '../../pipeline/specs.ts';
import { tenantRuleOf } from '../../pipeline/tenant.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';

/** A declared projection that can't be verified, and why. */
export interface Beyond {
  readonly name: string;
  readonly version: number;
  readonly why: string;
}

const OF_INGESTS = 'not compared: its documents may have changed since, and its events may be deleted';

/** The projections that can't be recomputed and compared. */
export const beyondOf = ({ effects, publishes, ingests, archives }: Pipeline): Beyond[] => {
  const unreadable = effects.filter((spec) => !isOutside(spec) || spec.to.rows === undefined);
  return [...unreadable, ...publishes, ...ingests, ...archives].map(({ kind, name, version }) => ({
    name,
    version,
    why: (kind === 'ingest' ? OF_INGESTS : KIND_FACTS[kind].unverified) ?? '',
  }));
};

export const notVerifiable = ({ name, version, why }: Beyond): UsageError =>
  sharedError('unsupported', `${projectionId({ name, version })} can't be verified: ${why}`, {
    hint: 'Verify copies, aggregates, references, embeds, or sinks that declare `rows`.',
  });

/** Why a sink outside the account is left out where not all documents are compared. Undefined: it isn't. */
export function notInPart(
  spec: OutsideSpec,
  ofTenant: boolean,
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
): Beyond | undefined {
  const { name, version } = spec;
  if (spec.kind === 'send')
    return {
      name,
      version,
      why: ofTenant
        ? 'not compared: its rows name no tenant; verify without --tenant compares it'
        : 'not sampled: its sink lists its whole content or nothing; verify without --sample compares it',
    };
  if (!ofTenant || tenantRuleOf(pipeline, model, spec.from.container)) return undefined;
  return { name, version, why: 'not compared: its rows belong to no tenant; verify without --tenant compares it' };
}

/** Its sink has the rows of all shards. */
export const notByShard = ({ name, version }: Pick<Beyond, 'name' | 'version'>): Beyond => ({
  name,
  version,
  why: 'not compared: its sink has the rows of all shards',
});
