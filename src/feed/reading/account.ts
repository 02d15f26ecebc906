import type { Container } from '@azure/cosmos';
import { withRetry } from '../../cosmos/retry.ts';
import { cosmosError } from '../../cosmos/errors.ts';

/**
 * The account's address without the region that the client inserts. Lease names contain this address, on hosts in all
 * regions and on .NET hosts.
 * @throws UsageError `multi-region-writes`, which break order, ETags and leases (ASM-A6)
 */
export async function accountEndpoint({ database: { client } }: Container): Promise<string> {
  const { resource } = await withRetry(() => client.getDatabaseAccount(), { reads: true });
  const written = await client.getWriteEndpoint();
  if (resource?.enableMultipleWritableLocations)
    throw cosmosError(
      'multi-region-writes',
      `The account at ${written} has multi-region writes. Order, ETags and leases are not reliable there.`,
    );
  const url = new URL(written);
  const [account = '', ...domain] = url.hostname.split('.');
  const regions = [...(resource?.writableLocations ?? []), ...(resource?.readableLocations ?? [])];
  const suffixes = regions.map(({ name }) => `-${name.toLowerCase().replaceAll(' ', '')}`);
  const suffix = suffixes.find((one) => account.endsWith(one)) ?? '';
  url.hostname = [account.slice(0, account.length - suffix.length), ...domain].join('.');
  return url.href;
}
