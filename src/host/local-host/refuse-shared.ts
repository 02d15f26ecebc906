import type { UsageError } from '../../base/errors.ts';

/** Throws what `refusal` says of the first two that have one key: what belongs to one function would be halved among them. */
export function refuseShared<T>(
  triggers: readonly T[],
  keyOf: (trigger: T) => string,
  refusal: (one: T, other: T) => UsageError,
): void {
  const owners = new Map<string, T>();
  for (const trigger of triggers) {
    const key = keyOf(trigger);
    const owner = owners.get(key);
    if (owner !== undefined) throw refusal(owner, trigger);
    owners.set(key, trigger);
  }
}
