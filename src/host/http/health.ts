import type { Workspace } from '../../runtime/workspace.ts';
import { UsageError, messageOf } from '../../base/errors.ts';
import { FormatUnreadable } from '../../base/format.ts';
import { type Binding, missingSettings } from '../functions/app-settings.ts';
import {
  type HttpComparison,
  type DeclarationDifference,
  compareDeployed,
  problemOf,
  tablesThatDiffer,
} from './compare-deployed.ts';
import { recordStarts } from '../../runtime/hosts/trigger-host.ts';
import { assertControlReadable } from '../../runtime/stored-formats.ts';
import { loadLate } from '../functions/late.ts';
import { type HttpAnswer, answer } from './answer.ts';
import { HOST_ERRORS } from '../errors.ts';

/** How long an answer is reused: health needs no key, so requests must cost little. */
const FRESH_MS = 5_000;

export interface HealthOptions {
  readonly workspace: Workspace;
  /** The bindings of the app's triggers: the settings that they name must exist. */
  readonly bindings: readonly Binding[];
  /** The reason why the pipeline couldn't be loaded; then the app has no triggers. */
  readonly unloadable?: Error;
  /** Throws if the leases show that the pipeline was renamed. */
  readonly checkLeases: () => Promise<void>;
}

/**
 * Answers `GET …/health/live` (the process answers) and `GET …/health/ready` (200, or 503 with the problems). It needs no
 * key, so it names containers, projections and settings, and never shows a value.
 */
export function health(options: HealthOptions): (probe: string | undefined) => Promise<HttpAnswer> {
  let last: { readonly at: number; readonly answer: Promise<HttpAnswer> } | undefined;
  return async (probe = 'ready') => {
    if (probe === 'live') return answer(200, { live: true });
    if (probe !== 'ready') {
      const message = `There is no probe ${JSON.stringify(probe)}`;
      return answer(404, { error: { code: 'not-found', message, hint: 'Name one of: live, ready.' } });
    }
    if (!last || performance.now() - last.at > FRESH_MS) last = { at: performance.now(), answer: ready(options) };
    return last.answer;
  };
}

async function ready({ workspace, bindings, unloadable, checkLeases }: HealthOptions): Promise<HttpAnswer> {
  try {
    if (unloadable !== undefined) throw unloadable;
    const missing = missingSettings(bindings);
    if (missing) throw missing;
    await loadLate();
    const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
    await assertControlReadable(services, AbortSignal.timeout(FRESH_MS * 2));
    const compared = await compareDeployed(loaded, services);
    // If the lease container is missing, the comparison has already reported it.
    if (compared.held.size === 0) {
      await checkLeases();
      // A probe after the deployment comes before the first batch.
      await recordStarts({ services, loaded });
    }
    const tables = await tablesThatDiffer(loaded, AbortSignal.timeout(FRESH_MS * 2));
    return report({ ...compared, differences: [...compared.differences, ...tables] });
  } catch (error) {
    const problem = openly(error);
    if (problem.message === IN_LOG) console.error(`millrace: not ready: ${messageOf(error)}`);
    return answer(503, { ready: false, problems: [problem], held: [], differences: [] });
  }
}

const IN_LOG = 'The log of the app has the reason.';

/** Errors whose messages name containers, projections and settings, and nothing else. */
const OPEN: ReadonlySet<string> = new Set([
  'setting-missing',
  'setting-invalid',
  'all-versions-feed',
  'app-place-invalid',
  'lease-prefix-renamed',
  'leases-lost',
]);

/** Other messages may hold an address, a path, a secret, what a service said, or names of shards, which may be tenants'. */
function openly(error: unknown): ReturnType<typeof problemOf> {
  if (error instanceof FormatUnreadable || (error instanceof UsageError && OPEN.has(error.code)))
    return problemOf(error);
  const code = error instanceof UsageError ? error.code : 'unavailable';
  const hint = code === 'app-place-unknown' ? HOST_ERRORS['app-place-unknown'].hint : undefined;
  return { code, message: IN_LOG, ...(hint !== undefined && { hint }) };
}

function report({ differences, held }: HttpComparison): HttpAnswer {
  const problems = differences.filter(({ holds, waits }) => holds || waits);
  const isReady = held.size === 0 && problems.every(({ waits }) => !waits);
  return answer(isReady ? 200 : 503, {
    ready: isReady,
    problems: problems.map(problemWith),
    held: [...held].map(([projection, why]) => ({ projection, why })),
    differences,
  });
}

const problemWith = ({ container, projection, what, waits }: DeclarationDifference) =>
  waits
    ? { code: 'tables-unready', message: `${container}: ${what}`, hint: HOST_ERRORS['tables-unready'].hint }
    : projection === undefined
      ? {
          code: 'container-differs',
          message: `${container}: ${what}`,
          hint: HOST_ERRORS['container-differs'].hint,
        }
      : {
          code: 'projection-incompatible',
          message: `${container}: ${what}`,
          hint: 'Undo the change, or declare another version and build it with `millrace projections rebuild`.',
        };
