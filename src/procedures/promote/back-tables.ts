// The way back of tables: hosts have written both contents in one transaction, so nothing is caught up, and nothing frozen.
import { type Pipeline, type TableSpec, projectionId } from '../../pipeline/specs.ts';
import { Views } from '../../engine/views/views.ts';
import { operationsError } from '../errors.ts';
import { splitId } from '../projections/choose.ts';
import type { Promoted, PromoteOptions } from './promote.ts';
import { previousOf } from '../rebuild/rebuild-sink.ts';

/**
 * The version whose content readers had before, if hosts still write it.
 * @throws UsageError `no-way-back`
 */
export async function keptTables(
  { effects }: Pick<Pipeline, 'effects'>,
  given: string,
  signal: AbortSignal,
): Promise<TableSpec> {
  const { name, version } = splitId(given);
  const versions = effects.filter((spec): spec is TableSpec => spec.kind === 'table' && spec.name === name);
  const [any] = versions;
  if (!any)
    throw operationsError('no-way-back', `The content before of ${name} is kept by its sink, if at all`, {
      hint: `Fill another content with \`millrace projections rebuild ${name}\`.`,
    });
  const kept = await any.to.kept?.(signal);
  if (!kept) throw operationsError('no-way-back', `No content that readers of ${name} had before is kept`);
  const id = projectionId({ name, version: kept.version });
  if (version !== undefined && version !== kept.version)
    throw operationsError(
      'no-way-back',
      `${projectionId({ name, version })} is not the version before, which is ${id}`,
    );
  const spec = versions.find((one) => one.version === kept.version);
  if (spec) return spec;
  throw operationsError('no-way-back', `The pipeline no longer declares ${id}, so hosts no longer write it`);
}

/** May be run again, but then goes there and back: each run shows what was shown before. */
export async function backTables({
  services,
  loaded,
  spec,
  keepMs = 0,
  signal,
}: Pick<PromoteOptions, 'services' | 'loaded' | 'keepMs' | 'signal'> & {
  readonly spec: TableSpec;
}): Promise<Promoted> {
  const container = (await spec.to.back?.(signal, keepMs)) ?? '';
  await new Views(services.global.state, loaded.pipeline.name).change(spec.name, (view) => ({
    ...view,
    promotions: view.promotions + 1,
  }));
  return { projection: projectionId(spec), container, ...(await previousOf(spec, signal)), heldMs: 0 };
}
