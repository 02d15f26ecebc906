import { runInNewContext } from 'node:vm';
import { isObject } from './json.ts';

/**
 * What `work` answers; throws what `late` makes once it has lasted `ms`. For a call that keeps the thread to itself, since
 * nothing else ends such a call: no timer and no signal is looked at meanwhile.
 */
export function inTime<T>(ms: number, work: () => T, late: (cause: unknown) => Error): T {
  try {
    return runInNewContext('work()', { work }, { timeout: ms }) as T;
  } catch (cause) {
    throw isObject(cause) && cause['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? late(cause) : cause;
  }
}
