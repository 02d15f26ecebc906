import pMap, { pMapSkip } from 'p-map';

/**
 * The results of `task` for all items, in the order of the items, with `concurrency` tasks at the same time. After the
 * first error it starts no more tasks, waits for those that run, and throws that error. So a caller who tries again never
 * meets a task of its first attempt.
 */
export async function mapSettled<T, R>(
  items: Iterable<T>,
  task: (item: T, index: number) => Promise<R> | R,
  { concurrency }: { readonly concurrency: number },
): Promise<R[]> {
  let failure: { readonly error: unknown } | undefined;
  const one = async (item: T, index: number): Promise<R | typeof pMapSkip> => {
    if (failure) return pMapSkip;
    try {
      return await task(item, index);
    } catch (error) {
      failure ??= { error };
      return pMapSkip;
    }
  };
  const results = await pMap(items, one, { concurrency });
  if (failure) throw failure.error;
  return results;
}
