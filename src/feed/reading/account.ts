import type { Container } from '@azure/cosmos';
import { UsageError } from '../../base/errors.ts';
import { withRetry } from '../../cosmos/retry.ts';

/**
 * The account's address as its owners write it, without the region that the client puts into it: hosts in other regions,
 * and .NET's, name their leases after it.
 * @throws UsageError `multi-region-writes`: order, ETags and leases break there (A6)
 */
export async function accountEndpoint({ database: { client } }: Container): Promise<string> {
  const { resource } = await withRetry(() => client.getDatabaseAccount(), { reads: true });
  const written = await client.getWriteEndpoint();
  if (resource?.enableMultipleWritableLocations)
    throw new UsageError(
      'multi-region-writes',
      `The account at ${written} has multi-region writes, which break order and leases.`,
      {
        mend: 'Use an account with one write region.',
      },
    );
  const url = new URL(written);
  const [account = '', ...domain] = url.hostname.split('.');
  const regions = [...(resource?.writableLocations ?? []), ...(resource?.readableLocations ?? [])];
  const suffixes = regions.map(({ name }) => `-${name.toLowerCase().replaceAll(' ', '')}`);
  const suffix = suffixes.find((one) => account.endsWith(one)) ?? '';
  url.hostname = [account.slice(0, account.length - suffix.length), ...domain].join('.');
  return url.href;
}
