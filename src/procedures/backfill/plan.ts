import { withRetry } from '../../cosmos/retry.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { type DerivedSpec, projectionId } from '../../pipeline/specs.ts';
import { startOf } from '../../pipeline/start.ts';
import type { Plan } from '../context.ts';
import { secondsToWrite } from '../seconds.ts';
import { plural } from '../table.ts';
import { Lacking } from './without-tenant.ts';
import type { BackfillOptions } from './options.ts';
import { eventReaders, openTarget, openValues } from './target.ts';
import { declaredTenant } from '../tenants/tenant-flag.ts';
import { lookupOf } from './lookup.ts';

/** A patch costs twice a create: 11 RU for the first KB and 1 RU for each further one; the feed, 1 RU a KB (bench). */
const RU_A_WRITE = 11;
const RU_A_KB = 1;
/** Documents whose size stands for all. */
const SAMPLE = 100;

type PlanOptions = Omit<BackfillOptions, 'actor' | 'progress'>;

/**
 * What a backfill would read, write and cost, by the service's counts. Changes nothing.
 * @throws UsageError as `backfill` does
 */
export async function planBackfill(options: PlanOptions): Promise<Plan> {
  const { services, loaded, container: name, type, values } = options;
  const { pipeline } = loaded;
  const rule = declaredTenant(loaded);
  const container = services.place.database.container(name);
  const { defaultTtl } = await openTarget(container, rule, loaded.model);
  await openValues(values, options);
  const { lacking, all } = await new Lacking(container, rule.field, type, pipeline.sources).count();
  if (lacking === 0) return { steps: [], ru: 0 };
  const { resources } = await withRetry(
    () => container.items.query<object>(`SELECT TOP ${SAMPLE} * FROM c`).fetchAll(),
    { reads: true },
  );
  const kilobytes = Math.max(
    1,
    resources.reduce((sum, one) => sum + JSON.stringify(one).length, 0) / 1_024 / Math.max(1, resources.length),
  );
  const lookup = lookupOf(values);
  const read = Math.ceil(all * kilobytes * RU_A_KB);
  const write = Math.ceil(lacking * (RU_A_WRITE + (kilobytes - 1) * RU_A_KB));
  const looked = lookup ? lacking : 0;
  const from = lookup ? `${lookup.container}.${lookup.path.join('.')}` : (values.from ?? JSON.stringify(values.value));
  const events = eventReaders(pipeline, name);
  return {
    steps: [
      `read the feed of ${name}: ${plural(all, 'document')}, about ${count(read)} RU`,
      ...(lookup ? [`read the documents of ${lookup.container} that they name, at most ${count(looked)} RU`] : []),
      `write ${rule.field} into ${plural(lacking, 'document')} from ${from}, about ${count(write)} RU`,
      ...(defaultTtl === undefined ? [] : ['write as `ttl` what is left of the life of documents that expire']),
      `feed entries that this makes: ${count(lacking)}; every reader of ${name} gets them`,
      ...readersOf(feedReaders(pipeline), name).map((spec) => lineOf(spec, events)),
      ...(events.length > 0 ? ['write a document only after the hosts have processed its last change'] : []),
    ],
    ru: read + looked + write,
    seconds: secondsToWrite(lacking, 0),
  };
}

const readersOf = (specs: readonly DerivedSpec[], container: string): DerivedSpec[] =>
  specs.filter((spec) => sourcesOf(spec).some((of) => of.container === container));

function lineOf(spec: DerivedSpec, events: readonly DerivedSpec[]): string {
  if (events.includes(spec)) return `${projectionId(spec)}: no events`;
  const late = startOf(spec) !== 'beginning' ? ', also those from before its start' : '';
  return `${projectionId(spec)}: gets these documents again${late}`;
}

const count = (number: number): string => number.toLocaleString('en-US');
