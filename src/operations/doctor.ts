import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { CLOCK_SKEW_MS } from '../base/bounds.ts';
import { MillraceError } from '../base/errors.ts';
import { GIVE_DATA_ROLE, failureOf } from '../cosmos/failure.ts';
import { withRetry } from '../cosmos/retry.ts';
import { projectionId } from '../definition/specs.ts';
import { sourceContainers } from '../engine/runners.ts';
import { type View, Views } from '../engine/views/views.ts';
import { planStorage } from './archive/open.ts';
import { movedSources } from './containers/moved.ts';
import { readDeadLetters } from './dead-letters/read.ts';
import { containerRights } from './doctor-rights.ts';
import { type Finding, bad, doubtful, failed, good } from './finding.ts';
import { readHostStatuses } from './host-status.ts';
import { chooseGroups, openLeases } from './leases/groups.ts';
import { expiration } from './leases/inputs.ts';
import { STUCK_MS, leaseRows } from './leases/lease-rows.ts';
import { planModel } from './model/apply.ts';
import { type Context, defineOperation } from './operation.ts';
import { plural } from './table.ts';
import type { LoadedPipeline, Services } from '../runtime/workspace.ts';

const NODE = { major: 22, minor: 18 };
/** A version that is built for longer than this was probably forgotten. */
const FORGOTTEN_MS = 86_400_000;
/** Four times as long as between two words of a host. */
const SILENT_MS = 120_000;

/** Looks at everything that has to be right for a pipeline to run, in the order in which one thing needs the other. */
export async function examine(context: Context, expirationMs: number): Promise<Finding[]> {
  const { workspace } = context;
  const findings: Finding[] = [nodeVersion(process.versions.node)];
  const attempt = async <T>(
    check: string,
    ask: () => Promise<T> | T,
    say: (found: T) => string,
  ): Promise<T | undefined> => {
    try {
      const found = await ask();
      findings.push(good(check, say(found)));
      return found;
    } catch (error) {
      findings.push(failed(check, error));
      return undefined;
    }
  };
  const loaded = await attempt(
    'pipeline',
    () => workspace.pipeline(),
    ({ pipeline }) => `${pipeline.name}: ${plural(pipeline.projections.length, 'projection')}, all as the model has it`,
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
    () => `${new URL(settings.cosmos.endpoint).host} answers, with one write region`,
  );
  if (!services || !loaded) return findings;
  const parts: readonly (readonly [check: string, look: () => Promise<Finding[]>])[] = [
    ['containers', () => containers(loaded, services)],
    ['rights', () => rightsAndClock(services)],
    ['rights', () => containerRights(loaded, services)],
    ['migrations', () => migrations(loaded, services, settings.cosmos.endpoint)],
    ['storage', () => storage(loaded, services, context)],
    ['views', () => views(loaded, services)],
    ['leases', () => leases(context, expirationMs)],
    ['hosts', () => hosts(services, context)],
    ['dead letters', () => letters(services)],
    ['jobs', () => jobs(context)],
  ];
  for (const [check, look] of parts) {
    try {
      findings.push(...(await look()));
    } catch (error) {
      // `containers` has said so.
      if (error instanceof MillraceError && error.code.endsWith('container-missing')) continue;
      findings.push(failed(check, error));
    }
  }
  return findings;
}

function nodeVersion(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const enough = major > NODE.major || (major === NODE.major && minor >= NODE.minor);
  if (enough) return good('node', `Node ${version}`);
  return bad(
    'node',
    `Node ${version} is too old`,
    `Install Node ${NODE.major}.${NODE.minor} or later; 24 is the present LTS.`,
  );
}

async function containers(loaded: LoadedPipeline, services: Services): Promise<Finding[]> {
  const steps = await planModel(loaded, services);
  if (steps.length === 0) return [good('containers', 'all there, as the model and Millrace need them')];
  return steps.map(({ say }) =>
    bad(
      'containers',
      `to do: ${say}`,
      '`millrace model apply --dry-run` shows all of it; `millrace model apply` does it.',
    ),
  );
}

/** Writes, reads and removes a document where Millrace keeps its own; the service's clock is in its answer. */
async function rightsAndClock(services: Services): Promise<Finding[]> {
  const findings: Finding[] = [];
  const id = `doctor-${randomUUID()}`;
  for (const [container, pk] of [
    [services.state, 'pk'],
    [services.leases, 'id'],
  ] as const) {
    try {
      const before = Date.now();
      const { resource } = await withRetry(
        () => container.items.create<{ _ts?: number }>({ id, [pk]: id, ttl: 60 } as never),
        { reads: false },
      );
      const after = Date.now();
      await withRetry(() => container.item(id, id).delete(), { reads: true });
      findings.push(good('rights', `may read, write and delete in ${container.id}`));
      if (pk === 'pk') findings.push(clock(before, (Number(resource?._ts) + 0.5) * 1_000, after));
    } catch (error) {
      const { kind } = failureOf(error);
      if (kind === 'not-found') continue;
      findings.push(
        kind === 'denied' ? bad('rights', `may not write in ${container.id}`, GIVE_DATA_ROLE) : failed('rights', error),
      );
    }
  }
  return findings;
}

/** The service's time has seconds only. */
function clock(before: number, service: number, after: number): Finding {
  const offMs = service < before - 1_000 ? service - before : service > after + 1_000 ? service - after : 0;
  const off = Math.round(Math.abs(offMs) / 1_000);
  const mend = 'Let this machine synchronise its clock (NTP); leases and freezes bear 90 s.';
  if (Math.abs(offMs) > CLOCK_SKEW_MS) return bad('clock', `this machine's clock is off by ${off} s`, mend);
  return off > 5
    ? doubtful('clock', `this machine's clock is off by ${off} s`, mend)
    : good('clock', "within a second of the service's");
}

/** What the pipeline reads has to be what writers write. */
async function migrations(
  { pipeline, model }: LoadedPipeline,
  { state, database }: Services,
  endpoint: string,
): Promise<Finding[]> {
  const read = new Set(sourceContainers(pipeline, model).keys());
  const moved = await movedSources(read, { state, database: database.id, endpoint });
  return moved.map(({ container, target, where }) =>
    bad(
      'migrations',
      `writers of ${container} write to ${where} since it was migrated, and the pipeline reads ${container}: it sees nothing new`,
      target.container === container
        ? 'Deploy the pipeline with the settings of that account and database.'
        : `Name ${target.container} in the data-model document and the pipeline in place of ${container}, and deploy both; or go back: \`millrace containers migrate ${container} --into ${target.container} --rollback\`.`,
    ),
  );
}

async function storage(loaded: LoadedPipeline, services: Services, { signal }: Context): Promise<Finding[]> {
  if (loaded.pipeline.archives.length === 0) return [];
  const steps = await planStorage(loaded, services, signal).catch((error: unknown) => error);
  if (!Array.isArray(steps)) return [failed('storage', steps)];
  if (steps.length > 0)
    return [bad('storage', 'its blob container does not exist', '`millrace model apply` creates it.')];
  return [good('storage', 'the archive has its blob container')];
}

async function views({ pipeline }: LoadedPipeline, { state }: Services): Promise<Finding[]> {
  const all = await new Views(state, pipeline.name).read();
  if (!all)
    return [
      doubtful(
        'views',
        'no version is current yet, as no host has read a change',
        'The first one to read one makes the lowest version of each current: `millrace run`, or deploy the function app.',
      ),
    ];
  const declared = new Set(pipeline.projections.map(projectionId));
  const names = new Set([...Object.keys(all), ...pipeline.projections.map(({ name }) => name)]);
  const findings = [...names].flatMap((name) => viewFindings(name, all[name], declared));
  return findings.length > 0 ? findings : [good('views', `${plural(names.size, 'projection')} current and kept up`)];
}

function viewFindings(name: string, view: View | undefined, declared: ReadonlySet<string>): Finding[] {
  if (!view?.current)
    return [
      doubtful(
        'views',
        `${name} was added to a running pipeline and never built`,
        `\`millrace projections rebuild ${name}\`, then \`promote ${name}\`.`,
      ),
    ];
  const findings: Finding[] = [];
  const current = projectionId({ name, version: view.current.version });
  if (!declared.has(current))
    findings.push(
      bad(
        'views',
        `${current} is current, and the pipeline does not declare it: its sources wait`,
        `Declare it again, or promote a version that is declared.`,
      ),
    );
  if (view.paused)
    findings.push(
      doubtful(
        'views',
        `${name} is paused since ${view.paused.since} by ${view.paused.by}`,
        `\`millrace projections resume ${name}\`.`,
      ),
    );
  const { staged } = view;
  if (staged?.phase === 'frozen' && Date.parse(staged.frozenUntil ?? '') < Date.now())
    findings.push(
      doubtful(
        'views',
        `a promotion of ${name}@${staged.version} was left half done; hosts went on with ${current}`,
        `\`millrace projections promote ${name}\` does it again.`,
      ),
    );
  else if (staged && Date.now() - Date.parse(staged.since) > FORGOTTEN_MS)
    findings.push(
      doubtful(
        'views',
        `${name}@${staged.version} is being built since ${staged.since}; nothing leaves for the archive meanwhile`,
        `Go on with it (\`millrace projections rebuild ${name}\`), or drop it.`,
      ),
    );
  return findings;
}

async function leases(context: Context, expirationMs: number): Promise<Finding[]> {
  const room = await openLeases(context);
  if (!room.groups.some(({ own }) => own))
    return [doubtful('leases', 'there are none yet', 'A host makes them when it starts.')];
  const rows = await leaseRows(chooseGroups(room), { expirationMs, stuckMs: STUCK_MS });
  const findings = rows
    .filter(({ state }) => state !== 'owned' && state !== 'split')
    .map(({ container, token, state, why }) =>
      (state === 'free' ? doubtful : bad)(
        'leases',
        `${container ?? ''} ${token}: ${state}: ${why}`,
        '`millrace leases check` says what to do.',
      ),
    );
  return findings.length > 0 ? findings : [good('leases', `${plural(rows.length, 'lease')}, all held`)];
}

/** What running hosts say of themselves. */
async function hosts(services: Services, { signal }: Context): Promise<Finding[]> {
  const findings = (await readHostStatuses(services, signal)).flatMap(({ id, at, sources }) =>
    sources.flatMap(({ container, failure }) => {
      if (failure === undefined) return [];
      const what = `${id} can't go on with ${container}: ${failure}`;
      if (Date.now() - Date.parse(at) < SILENT_MS) return [bad('hosts', what)];
      return [doubtful('hosts', `silent since ${at}: ${what}`, 'Start a host, if none is running.')];
    }),
  );
  return findings;
}

async function letters(services: Services): Promise<Finding[]> {
  const all = await readDeadLetters(services);
  const [oldest] = all;
  if (!oldest) return [good('dead letters', 'none')];
  return [
    doubtful(
      'dead letters',
      `${plural(all.length, 'change')} parked, the first since ${oldest.firstAt}`,
      '`millrace dead-letters list`; then mend the cause and `redrive`, or `discard`.',
    ),
  ];
}

async function jobs({ workspace }: Context): Promise<Finding[]> {
  const { jobsUrl } = workspace.settings();
  const inAzure = process.env['WEBSITE_INSTANCE_ID'] ?? process.env['FUNCTIONS_WORKER_RUNTIME'];
  if (jobsUrl === undefined && inAzure === undefined) return [];
  try {
    const { failed: lost, waiting } = await (await workspace.jobs()).counts();
    if (lost > 0) return [doubtful('jobs', `${plural(lost, 'job')} failed for good`, '`millrace jobs list` says why.')];
    return [good('jobs', `their datastore answers, ${waiting} waiting`)];
  } catch (error) {
    return [failed('jobs', error)];
  }
}

const SIGNS = { good: 'ok ', doubtful: '?  ', bad: 'BAD' } as const;

export const doctor = defineOperation({
  verb: 'doctor',
  summary:
    'Look at settings, account, rights, clock, containers, versions and leases, and say how to mend what is wrong',
  examples: ['millrace doctor', 'millrace doctor --env production --json'],
  effect: 'reads',
  input: z.object({ leaseExpiration: expiration }),
  run: ({ leaseExpiration }, context) => examine(context, leaseExpiration),
  format: (findings) => {
    // What is mended in one way is said once, below the last.
    const lines = findings.flatMap(({ check, verdict, what, mend }, at) => [
      `${SIGNS[verdict]}  ${check}: ${what}`,
      ...(mend === undefined || mend === findings[at + 1]?.mend ? [] : [`       ${mend}`]),
    ]);
    const wrong = findings.filter(({ verdict }) => verdict === 'bad').length;
    const open = findings.filter(({ verdict }) => verdict === 'doubtful').length;
    return [...lines, '', `${plural(wrong, 'thing')} wrong, ${open} to look at.`].join('\n');
  },
  ok: (findings) => findings.every(({ verdict }) => verdict !== 'bad'),
});
