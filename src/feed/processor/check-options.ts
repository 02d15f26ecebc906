import { sharedError } from '../../base/shared-errors.ts';
import type { AnyOptions } from './processor-options.ts';

/** @throws UsageError `option-invalid` naming the option */
export function checkOptions(options: AnyOptions): void {
  const { name, instance, start, mode, failure, timings = {}, minLeases = 0, maxLeases = 0 } = options;
  if (typeof options.handler !== 'function')
    throw invalid('handler', 'is no function', 'Give a function of (changes, context).');
  if (typeof name !== 'string' || /[/\\#?]/.test(name))
    throw invalid('name', 'must be text without / \\ # ?', 'Name the processor; it is part of the ids of its leases.');
  if (typeof instance !== 'string' || instance.trim() === '')
    throw invalid(
      'instance',
      'is empty',
      'Name this host by a name that it keeps over restarts, such as its host or pod name.',
    );
  const least: readonly (readonly [keyof AnyOptions, number])[] = [
    ['concurrency', 1],
    ['maxUnacknowledged', 1],
    ['maxItems', 1],
    ['targetPageMs', 0],
    ['handlerTimeoutMs', 1],
    ['ruPerSecond', 1],
    ['minLeases', 0],
    ['maxLeases', 0],
    ['epoch', 1],
  ];
  for (const [option, from] of least) {
    const value = options[option];
    if (value !== undefined && !(typeof value === 'number' && Number.isFinite(value) && value >= from))
      throw invalid(option, `is ${JSON.stringify(value)}`, `Give a number from ${from} up.`);
  }
  if (maxLeases > 0 && minLeases > maxLeases)
    throw invalid('minLeases', 'is above maxLeases', 'Lower minLeases, or raise maxLeases.');
  if (mode === 'all-versions-and-deletes' && (start === 'beginning' || start instanceof Date))
    throw invalid(
      'start',
      'lies in the past',
      'Start all versions and deletes at now, at a continuation or at a checkpoint.',
    );
  if (start instanceof Date && Number.isNaN(start.getTime()))
    throw invalid('start', 'is not a valid time', 'Give a valid Date.');
  if (failure && failure.kind !== 'retry' && !((failure.attempts ?? 1) >= 1))
    throw invalid('failure', 'has no attempts', 'Set failure.attempts to 1 or more.');
  for (const [timing, value] of Object.entries(timings)) {
    const mayBeZero = timing === 'checkpointMs';
    if (!(value > 0 || (mayBeZero && value === 0)))
      throw invalid(`timings.${timing}`, `is ${value}`, `Give milliseconds ${mayBeZero ? 'from 0 up' : 'above 0'}.`);
  }
  const { renewMs, expirationMs } = timings;
  if (renewMs !== undefined && expirationMs !== undefined && renewMs * 2 > expirationMs)
    throw invalid(
      'timings.renewMs',
      'leaves no time for a second attempt',
      'Keep it at or below half of timings.expirationMs.',
    );
}

const invalid = (option: string, why: string, hint: string) =>
  sharedError('option-invalid', `The option ${option} ${why}`, { hint });
