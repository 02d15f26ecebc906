import type { UsageError } from '../../base/errors.ts';

/** Throws `refusal` of the first two triggers with the same key: they would divide the changes or events between them. */
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
