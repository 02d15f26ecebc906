/** The result of work on `key` that is under way; begins it if none is. A failure is that of all who wait. */
export function shared<K extends object, T>(
  underWay: WeakMap<K, Promise<T>>,
  key: K,
  begin: () => Promise<T>,
): Promise<T> {
  const known = underWay.get(key);
  if (known) return known;
  const begun = begin().finally(() => underWay.delete(key));
  underWay.set(key, begun);
  return begun;
}
