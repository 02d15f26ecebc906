import { randomUUID } from 'node:crypto';
import { CLOCK_SKEW_MS } from '../../base/bounds.ts';
import { MillraceError } from '../../base/errors.ts';
import { sharedError } from '../../base/shared-errors.ts';
import { until } from '../../base/until.ts';
import { SYNCHRONISE, clockOff } from '../../cosmos/clock-off.ts';
import { GIVE_DATA_ROLE, failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { wholeOf } from '../../pipeline/places.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { sourceContainers } from '../../engine/runners.ts';
import type { DeadLetter } from '../../engine/dead-letters/dead-letters.ts';
import { Views } from '../../engine/views/views.ts';
import { planStorage } from '../archive/open.ts';
import { movedSources } from '../migrate/moved.ts';
import { readDeadLetters } from '../dead-letters/read.ts';
import { isReplaced } from '../projections/projection-rows.ts';
import { combinations } from './doctor-combinations.ts';
import { archiveIndexes, manifestFormats } from './doctor-archives.ts';
import { containerRights } from './doctor-rights.ts';
import { fairTurns } from './doctor-deferred.ts';
import { archiveVerification, comparisons, verification } from './doctor-verified.ts';
import { views } from './doctor-views.ts';
import { type DoctorFinding, bad, doubtful, failedFinding, good } from './finding.ts';
import { SILENT_MS, readHostStatuses } from '../status/host-status.ts';
import { chooseGroups, lostGroups, openLeases } from '../leases/groups.ts';
import { LOST, LOST_HINT, leasesWereLost } from '../leases/lost.ts';
import { leaseRows } from '../leases/lease-rows.ts';
import { planModel } from '../apply/apply.ts';
import type { Context } from '../context.ts';
import { plural } from '../table.ts';
import { highestFormats, sayFormat } from '../../runtime/stored-formats.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

/** For each check. They run side by side. */
const ANSWER_MS = 10_000;
const NODE = { major: 22, minor: 18 };

/** Checks everything that a pipeline needs to run, each thing after those that it depends on. */
export async function examineAccount(context: Context, expirationMs: number): Promise<DoctorFinding[]> {
  const { workspace } = context;
  const findings: DoctorFinding[] = [nodeVersion(process.versions.node)];
  const attempt = async <T>(
    check: string,
    ask: () => Promise<T> | T,
    say: (found: T) => string,
  ): Promise<T | undefined> => {
    try {
      const found = await within(ask);
      findings.push(good(check, say(found)));
      return found;
    } catch (error) {
      findings.push(failedFinding(check, error));
      return undefined;
    }
  };
  const loaded = await attempt(
    'pipeline',
    () => workspace.pipeline(),
    ({ pipeline: { name, projections, embeds, effects, publishes } }) => {
      const declared = [...projections, ...embeds, ...effects, ...publishes].length;
      return `${name}: ${plural(declared, 'projection')}, in agreement with the model`;
    },
  );
  if (loaded && loaded.pipeline.model.examples === undefined)
    findings.push(
      good('pipeline', 'the model has no examples, so a function that changes under its version isn’t noticed'),
    );
  const settings = await attempt(
    'settings',
    () => workspace.settings(),
    ({ database }) => `database ${database}`,
  );
  if (!settings) return findings;
  const services = await attempt(
    'account',
    () => workspace.services(),
    ({ place }) => `${new URL(place.endpoint).host} answers, with one write region`,
  );
  if (!services || !loaded) return findings;
  const parts: readonly (readonly [check: string, look: () => Promise<DoctorFinding[]>])[] = [
    ['containers', () => containers(loaded, services)],
    ['rights', () => rightsAndClock(services)],
    ['rights', () => containerRights(loaded, services)],
    ['combinations', () => combinations(loaded, services)],
    ['migrations', () => migrations(loaded, services)],
    ['formats', () => formats(services, context)],
    ['formats', () => manifestFormats(services, context.signal)],
    ['event hubs', () => hubs(loaded, services)],
    ['storage', () => storage(loaded, services, context)],
    ['tables', () => tables(loaded, context)],
    ['views', () => views(loaded, services)],
    ['leases', () => leases(context, expirationMs, loaded, services)],
    ['hosts', () => hosts(services, context)],
    ['dead letters', () => letters(services, loaded)],
    ['fair turns', () => fairTurns(loaded, services, context.signal)],
    ['verification', () => verification(services, loaded)],
    ['verification', () => comparisons(services, loaded, context)],
    ['archive', () => archiveVerification(services, loaded)],
    ['archive', () => archiveIndexes(loaded, services)],
    ['jobs', () => jobs(context)],
  ];
  const looks = parts.map(async ([check, look]) => {
    try {
      return await within(look);
    } catch (error) {
      // The check `containers` has reported it.
      if (error instanceof MillraceError && error.code.endsWith('container-missing')) return [];
      if (failureOf(error).kind === 'not-found') return [];
      return [failedFinding(check, error)];
    }
  });
  return [...findings, ...(await Promise.all(looks)).flat()];
}

/** Ends a check of a service that doesn't answer. */
async function within<T>(ask: () => Promise<T> | T): Promise<T> {
  const late = new AbortController();
  const timer = setTimeout(
    () =>
      late.abort(
        sharedError('unavailable', `no answer in ${ANSWER_MS / 1_000} s`, {
          hint: 'See whether the service answers at all, and how many of its requests it refuses with 429.',
        }),
      ),
    ANSWER_MS,
  );
  try {
    return await until((async () => ask())(), late.signal);
  } finally {
    clearTimeout(timer);
  }
}

function nodeVersion(version: string): DoctorFinding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > NODE.major || (major === NODE.major && minor >= NODE.minor);
  if (enough) return good('node', `Node ${version}`);
  return bad(
    'node',
    `Node ${version} is too old`,
    `Install Node ${NODE.major}.${NODE.minor} or later; 24 is the current LTS.`,
  );
}

async function containers(loaded: LoadedPipeline, services: Services): Promise<DoctorFinding[]> {
  const steps = await planModel(loaded, services);
  if (steps.length === 0) return [good('containers', 'all exist, as the model and Millrace need them')];
  return steps.map(({ say }) =>
    bad('containers', `to do: ${say}`, 'Run `millrace model apply`; with `--dry-run` it shows all steps first.'),
  );
}

/** Writes and removes a document in Millrace's own containers; the answer also shows the service's time. */
async function rightsAndClock({ place, global }: Services): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  const id = `doctor-${randomUUID()}`;
  for (const [container, pk] of [
    ...[...new Set([place.state, global.state])].map((state) => [state, 'pk'] as const),
    [global.leases, 'id'] as const,
  ]) {
    try {
      const before = Date.now();
      const { resource } = await withRetry(
        () => container.items.create<{ _ts?: number }>({ id, [pk]: id, ttl: 60 } as never),
        { reads: false },
      );
      const after = Date.now();
      await withRetry(() => container.item(id, id).delete(), { reads: true });
      findings.push(good('rights', `this identity may read, write and delete in ${container.id}`));
      if (pk === 'pk') findings.push(clock(clockOff(before, Number(resource?._ts), after)));
    } catch (error) {
      const { kind } = failureOf(error);
      if (kind === 'not-found') continue;
      findings.push(
        kind === 'denied'
          ? bad('rights', `this identity may not write in ${container.id}`, GIVE_DATA_ROLE)
          : failedFinding('rights', error),
      );
    }
  }
  return findings;
}

function clock(offMs: number): DoctorFinding {
  const off = Math.round(Math.abs(offMs) / 1_000);
  if (Math.abs(offMs) > CLOCK_SKEW_MS) return bad('clock', `this machine's clock is off by ${off} s`, SYNCHRONISE);
  return off > 5
    ? doubtful('clock', `this machine's clock is off by ${off} s`, SYNCHRONISE)
    : good('clock', "within a second of the service's");
}

/** The pipeline must read the containers that writers write. */
async function migrations(
  { pipeline, model }: LoadedPipeline,
  { place: { endpoint, database, state } }: Services,
): Promise<DoctorFinding[]> {
  const read = new Set(sourceContainers(pipeline, model).keys());
  const moved = await movedSources(read, { state, database: database.id, endpoint });
  return moved.map(({ container, target, where }) =>
    bad(
      'migrations',
      `${container} was migrated: its writers write to ${where}, but the pipeline still reads ${container} and sees no new changes`,
      target.container === container
        ? 'Deploy the pipeline with the settings of that account and database.'
        : `Name ${target.container} instead of ${container} in the data model and the pipeline, and deploy both. Or go back with \`millrace migrate ${container} --into ${target.container} --rollback\`.`,
    ),
  );
}

/** Which forms of documents other versions have left, and whether this one reads them. */
async function formats(services: Services, { signal }: Context): Promise<DoctorFinding[]> {
  const above = await highestFormats(services, signal);
  if (above.length === 0) return [good('formats', 'every document has format 1, as this version writes and reads it')];
  const hint = 'Upgrade this host to the version that wrote the document: see docs/upgrading.md.';
  return above.map((one) => (one.readable ? good('formats', sayFormat(one)) : bad('formats', sayFormat(one), hint)));
}

async function hubs({ pipeline }: LoadedPipeline, { hubs: clients }: Services): Promise<DoctorFinding[]> {
  // The global place reads and writes them.
  if (pipeline.part?.place === 'shard') return [];
  const { publishes, ingests } = wholeOf(pipeline);
  const asked = [
    ...new Set(publishes.map(({ to }) => to)).values().map((hub) => ({ hub, group: undefined })),
    ...ingests.map(({ from, consumerGroup }) => ({ hub: from, group: consumerGroup })),
  ];
  const ask = async ({ hub, group }: (typeof asked)[number]): Promise<void> => {
    await clients.check(hub, group);
    if (group !== undefined) await clients.positions(hub, group).assertFit();
  };
  return Promise.all(
    asked.map(({ hub, group }) =>
      within(() => ask({ hub, group })).then(
        () => good('event hubs', `${hub} answers, and this identity may ${group === undefined ? 'send' : 'read'}`),
        (error: unknown) => failedFinding('event hubs', error),
      ),
    ),
  );
}

async function storage(loaded: LoadedPipeline, services: Services, { signal }: Context): Promise<DoctorFinding[]> {
  // All places share the container, so the global place looks at it.
  if (loaded.pipeline.part?.place === 'shard' || wholeOf(loaded.pipeline).archives.length === 0) return [];
  const steps = await planStorage(loaded, services, signal).catch((error: unknown) => error);
  if (!Array.isArray(steps)) return [failedFinding('storage', steps)];
  if (steps.length > 0)
    return [bad('storage', 'the archive’s blob container does not exist', 'Create it with `millrace model apply`.')];
  return [good('storage', 'the archive’s blob container exists')];
}

async function tables({ pipeline }: LoadedPipeline, { signal }: Context): Promise<DoctorFinding[]> {
  // All shards have one database, so the global place looks at it.
  if (pipeline.part?.place === 'shard') return [];
  const specs = wholeOf(pipeline).effects.filter((spec) => spec.kind === 'table');
  const found: DoctorFinding[] = [];
  for (const spec of specs)
    for (const { what, hint } of (await spec.to.faults?.(signal)) ?? [])
      found.push(bad('tables', `${projectionId(spec)}: ${what}`, hint));
  if (specs.length === 0 || found.length > 0) return found;
  return [
    good('tables', `those of ${specs.map(projectionId).join(', ')} match the pipeline, and this role may write them`),
  ];
}

async function leases(
  context: Context,
  expirationMs: number,
  { pipeline }: LoadedPipeline,
  { place }: Services,
): Promise<DoctorFinding[]> {
  const inventory = await openLeases(context);
  const lost = lostGroups(inventory, pipeline).map(({ prefix, leases: of }) =>
    doubtful(
      'leases',
      `${plural(of.length, 'lease')} of a container that was deleted, or deleted and created again (${prefix})`,
      'What derives from its documents is still there: run `millrace projections verify --repair`. Then delete these leases.',
    ),
  );
  if (!inventory.groups.some(({ own }) => own))
    return [
      ...lost,
      (await leasesWereLost(inventory, place.state, pipeline.name))
        ? bad('leases', LOST, LOST_HINT)
        : doubtful('leases', 'the pipeline has none yet', 'Start a host: it creates them.'),
    ];
  const rows = await leaseRows(chooseGroups(inventory), { expirationMs });
  const findings = rows
    .filter(({ state }) => state !== 'owned' && state !== 'split')
    .map(({ container, token, state, why }) =>
      (state === 'free' ? doubtful : bad)(
        'leases',
        `${container ?? ''} ${token}: ${state}: ${why}`,
        'Run `millrace leases list --check` to see what to do.',
      ),
    );
  const all = [...lost, ...findings];
  return all.length > 0 ? all : [good('leases', `${plural(rows.length, 'lease')}, all owned by hosts`)];
}

/** What running hosts report of themselves. */
async function hosts(services: Services, { signal }: Context): Promise<DoctorFinding[]> {
  const findings = (await readHostStatuses(services, signal)).flatMap(({ id, at, sources }) =>
    sources.flatMap(({ container, failure }) => {
      if (failure === undefined) return [];
      const what = `${id} can't continue with ${container}: ${failure}`;
      if (Date.now() - Date.parse(at) < SILENT_MS) return [bad('hosts', what)];
      return [doubtful('hosts', `no report since ${at}: ${what}`, 'Start a host, if none is running.')];
    }),
  );
  return findings;
}

async function letters(services: Services, { pipeline }: LoadedPipeline): Promise<DoctorFinding[]> {
  const [parked, all] = await Promise.all([
    readDeadLetters(services),
    new Views(services.global.state, pipeline.name).read(),
  ]);
  if (parked.length === 0) return [good('dead letters', 'none')];
  const [own, replaced] = [false, true].map((of) =>
    parked.filter(({ projection }) => isReplaced(projection, all) === of),
  );
  return [
    ...someLetters(bad, own, '', 'Fix the cause and run `millrace dead-letters redrive`, or discard them.'),
    ...someLetters(doubtful, replaced, ' in versions that are replaced', 'They go with `millrace projections drop`.'),
  ];
}

function someLetters(
  say: typeof doubtful,
  of: readonly DeadLetter[] = [],
  where: string,
  hint: string,
): DoctorFinding[] {
  const [oldest] = of;
  if (!oldest) return [];
  const what = `${plural(of.length, 'change')} parked${where}, the first at ${oldest.firstAt}`;
  return [say('dead letters', what, `See \`millrace dead-letters list\`. ${hint}`)];
}

async function jobs({ workspace }: Context): Promise<DoctorFinding[]> {
  const { jobsUrl } = workspace.settings();
  const inAzure = process.env['WEBSITE_INSTANCE_ID'] ?? process.env['FUNCTIONS_WORKER_RUNTIME'];
  if (jobsUrl === undefined && inAzure === undefined) return [];
  try {
    const { failed: lost, waiting } = await (await workspace.jobs()).counts();
    if (lost > 0)
      return [bad('jobs', `${plural(lost, 'job')} failed after all retries`, 'Run `millrace jobs list` to see why.')];
    return [good('jobs', `their datastore answers; ${waiting} waiting`)];
  } catch (error) {
    return [failedFinding('jobs', error)];
  }
}
