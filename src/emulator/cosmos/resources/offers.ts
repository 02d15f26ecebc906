import type { StoredAccount } from '../storage/account.ts';
import type { Offer, Throughput } from '../storage/holdings.ts';
import type { StoredContainer } from '../storage/container.ts';
import { physicalPartitionOf, split } from './repartition.ts';
import { listResources, one, stamp } from './resource.ts';
import { offerContent, throughputIn } from '../storage/throughput.ts';
import { notAllowed, notFound, parseObject } from '../wire/wire.ts';
import type { WireCall, Reply } from '../wire/wire.ts';

/** The most RU/s of one physical partition ("Service quotas"). */
const RU_PER_PARTITION = 10_000;

export function addOffer(account: StoredAccount, resourceRid: string, resource: string, throughput: Throughput): void {
  const n = account.nextRid++;
  const id = `of${n.toString(36).padStart(4, '0')}`;
  const definition = stamp(
    account,
    {
      id,
      offerVersion: 'V2',
      offerType: 'Invalid',
      resource,
      offerResourceId: resourceRid,
      content: offerContent(throughput),
    },
    id,
    `offers/${id}/`,
  );
  const offer: Offer = { id, definition };
  account.offers.set(id, offer);
  account.journal?.offer(offer);
}

export function dropOffer(account: StoredAccount, resourceRid: string): void {
  for (const offer of account.offers.values()) {
    if (offer.definition.offerResourceId !== resourceRid) continue;
    account.offers.delete(offer.id);
    account.journal?.dropOffer(offer);
  }
}

export function offers(account: StoredAccount, call: WireCall): Reply {
  const id = call.segments[1];
  if (id === undefined) return listResources(call, 'Offers', [...account.offers.values()], '');
  const offer = account.offers.get(id);
  if (!offer) throw notFound('Offer');
  if (call.method === 'GET') return one(200, offer.definition);
  if (call.method !== 'PUT') throw notAllowed(call);
  const throughput = throughputIn(parseObject(call.body).content);
  const definition = stamp(account, { ...offer.definition, content: offerContent(throughput) }, id, `offers/${id}/`);
  const replaced = { id, definition };
  account.offers.set(id, replaced);
  account.journal?.offer(replaced);
  for (const { containers } of account.databases.values()) {
    for (const container of containers.values()) {
      if (container.rid === definition.offerResourceId) spread(account, container, throughput);
    }
  }
  return one(200, definition);
}

/** Splits physical partitions, the fullest first, until they can carry the throughput. Fewer RU/s cause no merge. */
function spread(account: StoredAccount, container: StoredContainer, { maximum }: Throughput): void {
  while (container.ranges.length * RU_PER_PARTITION < maximum)
    split(account, container, physicalPartitionOf(container, undefined));
}
