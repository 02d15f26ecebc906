import { PartitionLog } from './partition-log.ts';
import { AmqpRefusal } from './refusal.ts';

export interface HubOptions {
  /** Default 4. */
  readonly partitions?: number;
  /** In addition to `$Default`, which every hub has. */
  readonly consumerGroups?: readonly string[];
}

export interface Hub {
  readonly name: string;
  /** Milliseconds since 1970. */
  createdAt: number;
  readonly partitions: readonly PartitionLog[];
  /** In lower case: names in Event Hubs are not case-sensitive. */
  readonly consumerGroups: ReadonlySet<string>;
  /** Counts the batches without partition and key, which go to the partitions in turn. */
  turn: number;
}

/** The entity of a link's address: `hub`, `hub/Partitions/0`, `hub/ConsumerGroups/$Default/Partitions/0`. */
export interface HubEntity {
  readonly hub: Hub;
  readonly consumerGroup?: string;
  readonly partition?: PartitionLog;
}

/** The hubs of a namespace, by name in lower case. */
export class Namespace {
  readonly hubs = new Map<string, Hub>();

  add(name: string, { partitions = 4, consumerGroups = [] }: HubOptions): Hub {
    const hub: Hub = {
      name,
      createdAt: Date.now(),
      partitions: Array.from({ length: partitions }, (_, index) => new PartitionLog(String(index))),
      consumerGroups: new Set(['$default', ...consumerGroups.map((group) => group.toLowerCase())]),
      turn: 0,
    };
    this.hubs.set(name.toLowerCase(), hub);
    return hub;
  }

  /** @throws AmqpRefusal, with the service's text, if there is no such hub */
  hub(name: string): Hub {
    const hub = this.hubs.get(name.toLowerCase());
    if (hub) return hub;
    throw new AmqpRefusal('amqp:not-found', `The messaging entity '${name}' could not be found.`);
  }

  /** @throws AmqpRefusal if the hub, the consumer group or the partition doesn't exist */
  entity(address: string): HubEntity {
    const [name = '', ...rest] = address.split('/');
    const hub = this.hub(name);
    const parts = new Map<string, string>();
    for (let at = 0; at + 1 < rest.length; at += 2) parts.set(String(rest[at]).toLowerCase(), String(rest[at + 1]));
    const consumerGroup = parts.get('consumergroups');
    if (consumerGroup !== undefined && !hub.consumerGroups.has(consumerGroup.toLowerCase()))
      throw new AmqpRefusal('amqp:not-found', `The messaging entity '${name}|${consumerGroup}' could not be found.`);
    const id = parts.get('partitions');
    const partition = hub.partitions.find((candidate) => candidate.id === id);
    if (id !== undefined && !partition) throw noPartition(hub, id);
    return { hub, ...(consumerGroup !== undefined && { consumerGroup }), ...(partition && { partition }) };
  }
}

export const noPartition = ({ name, partitions }: Hub, id: string): AmqpRefusal =>
  new AmqpRefusal(
    'com.microsoft:argument-out-of-range',
    `The partition ${id} of ${name} is out of range: it should be between 0 and ${partitions.length - 1}.`,
  );
