import { UsageError } from '../base/errors.ts';
import { withRetry } from '../cosmos/retry.ts';
import type { Services } from '../operations/workspace.ts';

/**
 * Leases of this app under another prefix, which a renamed pipeline leaves behind: the new name would read everything
 * from the beginning. Told by: leases of the same container whose names have our form hold positions, and ours none.
 * @throws UsageError `lease-prefix-renamed`
 */
export async function refuseRenamedPrefix(
  services: Pick<Services, 'leases'>,
  {
    prefix,
    source,
    known = process.env['LEASES_START_ANEW'],
  }: { prefix: string; source: string; known?: string | undefined },
): Promise<void> {
  if (known === prefix) return;
  const suffix = source.startsWith(prefix) ? source.slice(prefix.length) : source;
  const query = {
    query: 'SELECT c.id, c.ContinuationToken FROM c WHERE CONTAINS(c.id, @suffix)',
    parameters: [{ name: '@suffix', value: `${suffix}..` }],
  };
  const { resources } = await withRetry(
    () => services.leases.items.query<{ id: string; ContinuationToken?: unknown }>(query).fetchAll(),
    { reads: true },
  );
  const advanced = resources.filter(({ ContinuationToken: token }) => typeof token === 'string' && token !== '');
  const names = new Set(advanced.map(({ id }) => id.slice(0, id.indexOf(`${suffix}..`))));
  if (names.has(prefix)) return;
  const [other] = [...names].filter((name) => /^[a-z0-9-]{1,50}\.$/.test(name));
  if (other === undefined) return;
  throw new UsageError(
    'lease-prefix-renamed',
    `This pipeline's leases begin with ${prefix}, and those that have been at work begin with ${other}: under another prefix everything is read from the beginning`,
    {
      mend: `Give the pipeline its name ${other.slice(0, -1)} back. If it is another pipeline, or shall begin anew, set LEASES_START_ANEW=${prefix}.`,
    },
  );
}
