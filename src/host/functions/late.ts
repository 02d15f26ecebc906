import { UsageError } from '../../base/errors.ts';
import type { Registry } from '../../operations/registry.ts';

/** All operations. Loaded by the first timer or request: a cold start by a trigger would pay for them. */
export const lateRegistry = async (): Promise<Registry> => (await import('../registry.ts')).registry;

/**
 * Loads what a trigger does without and a timer or a request needs, so that readiness can tell whether it is there and
 * this Node can parse it.
 * @throws UsageError `code-unloadable`
 */
export async function loadLate(): Promise<void> {
  try {
    await Promise.all([lateRegistry(), import('../../jobs/jobs.ts'), import('@azure/storage-blob')]);
  } catch (cause) {
    const name = cause instanceof Error ? cause.name : 'an unknown error';
    // Anybody may ask for health, and the message may hold a path of the machine.
    console.error(cause);
    throw new UsageError('code-unloadable', `Timers and HTTP operations can't be loaded by Node.js: ${name}`, {
      cause,
      mend: `Deploy a whole build on a supported Node.js (this is ${process.version}); the log has the file and the reason.`,
    });
  }
}
