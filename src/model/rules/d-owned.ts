// D13: documents that belong to others, in partitions of one document each.
import type { ContainerDetail } from '../documents.ts';
import { namedLike } from '../reader/owners.ts';
import type { Facts } from './facts.ts';
import { type Field, fieldsOf, isAsked } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { isSaid } from './said.ts';

const REFERENCE = /^(?<of>[a-z]\w*?)_?(?:Id|id)$/;
const OWNER =
  /^(?:user|owner|creator|author|customer|account|tenant|company|organi[sz]ation|parent|student|patient|client|reporter|assignee|requester|sender|member|seller|driver|employee|agent|teacher|doctor)$/i;
/** What many documents name, and what owns none of them. */
const LOOKED_UP =
  /^(?:country|currency|category|type|status|state|role|plan|tier|region|city|language|tag|unit|template|department|brand)$/i;
const SERVED = /cross[- ]partition|fan[- ]?out|materiali[sz]ed|denormali|change feed|all partitions|跨分区/i;

/** The field that names the owner: a person or group, or another container's document. */
function ownerOf(facts: Facts, detail: ContainerDetail): Field | undefined {
  const others = facts.containers.filter((other) => other !== detail).map(({ container }) => container);
  const of = ({ field }: Field): string => REFERENCE.exec(field)?.groups?.['of'] ?? '';
  const fields = fieldsOf(facts, detail).filter((field) => of(field) !== '' && !LOOKED_UP.test(of(field)));
  return (
    fields.find((field) => namedLike(of(field), others) !== undefined) ?? fields.find((field) => OWNER.test(of(field)))
  );
}

/** The key is the document's own: `/id`, or `/ticketNumber` of tickets. */
export function isAlone(container: string, key: string): boolean {
  const of = /^\/(\w+?)_?(?:id|number|no|key|uuid|guid)$/i.exec(key)?.[1];
  return key === '/id' || (of !== undefined && namedLike(of, [{ name: container }]) !== undefined);
}

export const OWNED: readonly Rule[] = [
  {
    id: 'D13',
    title: 'Documents that belong to another one are in a partition with others of it',
    severity: 'warning',
    source: SOURCES.microsoft('Choose a partition key in Azure Cosmos DB'),
    why: 'With the key `/id` each document is alone in its partition. What belongs to a user or to an order is nearly always asked for together ("my photos", "lines of an order"), and then the query reads every partition. The rule looks for containers with this key, or with the document’s own number as the key, whose documents have the id of an owner or of another container’s document. It says nothing where a query by this field is judged by C13, and accepts a text that says cross-partition or names what serves the list.',
    hint: 'Use the owner’s id as the key: a point read then names both. Or derive a copy with this key.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const alone = facts.containers.filter(
        ({ container, derived }) => !derived && isAlone(container.name, container.partitionKey.join()),
      );
      const owned = alone.flatMap((detail) => {
        const owner = ownerOf(facts, detail);
        return owner && !detail.container.partitionKey.includes(`/${owner.field}`) ? [{ detail, owner }] : [];
      });
      if (owned.length === 0) {
        yield missing('documents of an owner with the key /id');
        return;
      }
      const open = owned.filter(
        ({ detail, owner }) => !isAsked(facts, detail, owner.field) && !isSaid(design, detail, SERVED),
      );
      yield* together(
        open.map(({ owner }) => owner),
        `${open.map(({ detail, owner }) => `${detail.container.name} by ${owner.field}`).join(', ')}: with the key ${open[0]?.detail.container.partitionKey.join() ?? ''} each document is alone in its partition, and a list reads all of them`,
        open.map(({ detail }) => facts.place(detail, 'partitionKey')),
      );
    },
  },
];
