import type { Registry } from '../../verbs/registry.ts';
import { runtimeError } from '../../runtime/errors.ts';

/** All operations. The first timer or request loads them, so that the cold start of a trigger doesn't wait for them. */
export const lateRegistry = async (): Promise<Registry> => (await import('../registry.ts')).registry;

/**
 * Loads the code that timers and requests need and triggers don't, so that readiness can report whether it is deployed
 * and this Node.js can parse it.
 * @throws UsageError `unloadable`
 */
export async function loadLate(): Promise<void> {
  try {
    await Promise.all([lateRegistry(), import('../../jobs/jobs.ts'), import('@azure/storage-blob')]);
  } catch (cause) {
    const name = cause instanceof Error ? cause.name : 'an unknown error';
    // Health needs no key, so the message goes to the log only: it may hold a path of the machine.
    console.error(cause);
    throw runtimeError('unloadable', `Node.js can't load the timers and HTTP operations: ${name}`, {
      cause,
      hint: `Deploy a complete build on a supported Node.js (this is ${process.version}). The log has the file and the reason.`,
    });
  }
}
