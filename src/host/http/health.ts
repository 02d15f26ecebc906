import type { Workspace } from '../../runtime/workspace.ts';
import { UsageError } from '../../base/errors.ts';
import { type Binding, missingSettings } from '../functions/app-settings.ts';
import { type Comparison, type Difference, compareDeployed, problemOf } from './readiness.ts';
import { loadLate } from '../functions/late.ts';
import { type Answer, answer } from './answer.ts';

/** How long an answer stands: anybody may ask. */
const FRESH_MS = 5_000;

export interface HealthOptions {
  readonly workspace: Workspace;
  /** What the app's triggers were registered with: the settings they name must be there. */
  readonly bindings: readonly Binding[];
  /** Why the app has no triggers, where it couldn't load its pipeline. */
  readonly unloadable?: Error;
  /** Throws where the leases say that the pipeline was renamed. */
  readonly checkLeases: () => Promise<void>;
}

/**
 * Answers `GET …/health/live` (the process answers) and `GET …/health/ready` (200, or 503 with what is wrong). Without a
 * key, so it names containers, projections and settings and never shows a value.
 */
export function health(options: HealthOptions): (probe: string | undefined) => Promise<Answer> {
  let last: { readonly at: number; readonly answer: Promise<Answer> } | undefined;
  return async (probe = 'ready') => {
    if (probe === 'live') return answer(200, { live: true });
    if (probe !== 'ready') {
      const error = {
        code: 'probe-unknown',
        message: `There is no probe ${JSON.stringify(probe)}`,
        mend: 'There is: live, ready.',
      };
      return answer(404, { error });
    }
    if (!last || performance.now() - last.at > FRESH_MS) last = { at: performance.now(), answer: ready(options) };
    return last.answer;
  };
}

async function ready({ workspace, bindings, unloadable, checkLeases }: HealthOptions): Promise<Answer> {
  try {
    if (unloadable !== undefined) throw unloadable;
    const missing = missingSettings(bindings);
    if (missing) throw missing;
    await loadLate();
    const [loaded, services] = await Promise.all([workspace.pipeline(), workspace.services()]);
    const compared = await compareDeployed(loaded, services);
    // Where the lease container is missing, the comparison has said so.
    if (compared.held.size === 0) await checkLeases();
    return report(compared);
  } catch (error) {
    // What isn't ours may hold an address or more.
    const problem =
      error instanceof UsageError
        ? problemOf(error)
        : { code: 'unavailable', message: 'The account does not answer as it should; the log says more.' };
    return answer(503, { ready: false, problems: [problem], held: [], differences: [] });
  }
}

function report({ differences, held }: Comparison): Answer {
  return answer(held.size === 0 ? 200 : 503, {
    ready: held.size === 0,
    problems: differences.filter(({ holds }) => holds).map(problemWith),
    held: [...held].map(([projection, why]) => ({ projection, why })),
    differences,
  });
}

const problemWith = ({ container, projection, what }: Difference) =>
  projection === undefined
    ? {
        code: 'container-differs',
        message: `${container}: ${what}`,
        mend: 'See `millrace model apply --dry-run`, or deploy infra/ again.',
      }
    : {
        code: 'projection-incompatible',
        message: `${container}: ${what}`,
        mend: 'Take the change back, or declare another version and build it by `millrace projections rebuild`.',
      };
