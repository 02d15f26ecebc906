import { runInNewContext } from 'node:vm';
import { isObject } from '../../../base/json.ts';

/**
 * Returns the result of `work`, or throws the error of `late` after `ms`. For a synchronous call that may compute for
 * ever: while it runs, no timer and no signal can end it.
 */
export function inTime<T>(ms: number, work: () => T, late: (cause: unknown) => Error): T {
  try {
    return runInNewContext('work()', { work }, { timeout: ms }) as T;
  } catch (cause) {
    throw isObject(cause) && cause['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT' ? late(cause) : cause;
  }
}
