import pMap, { pMapSkip } from 'p-map';

/**
 * The results of `task` for all items, `concurrency` at once, in the order of the items. After the first error it begins
 * nothing more, and throws that error once what was under way has ended too: whoever tries again never meets what it
 * began itself.
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
