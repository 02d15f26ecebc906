// B23: logical partitions that only grow.
import type { ContainerDetail } from '../documents.ts';
import { type Facts, fieldsIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { isSaid } from './said.ts';

/** Things of which a group makes more every day. */
const COLLECTED =
  /audit|logs?$|log[-_ ]?entr|events?$|activit|telemetry|histor|notification|reading|metrics?$|measurement|message|communication|interaction|usage|visits?$/i;
/** Groups whose size nothing bounds. */
const GROUP =
  /^\/(?:tenant|company|org|organi[sz]ation|workspace|business|school|hospital|clinic|facility|plant|site|merchant|region|channel|room|team|guild|server|community)_?(?:id|name|code)?$/i;
const CONSIDERED =
  /\b20 ?GB\b|archiv|\bbucket|hierarch|\bsynthetic|hot[- ]partition|sub-?partition|\bretention|\bTTL\b|time[- ]to[- ]live|purg|\bprune|\bsuffix|\bshard/i;

/** A TTL that ends nothing by itself. */
const UNENDED = /\bTTL\b[^|]{0,3}\|?[^|]{0,20}-1\b|\bno (?:automatic )?expir/i;

/** A document for each person, though it is called like what is collected. */
const SETTINGS = /prefer|setting|template|config|type/i;

const isCollected = ({ container }: ContainerDetail): boolean =>
  !SETTINGS.test(container.name) &&
  (COLLECTED.test(container.name) || (container.types.length === 1 && COLLECTED.test(container.types[0]?.name ?? '')));

const isEnded = (facts: Facts, detail: ContainerDetail): boolean => {
  const { container } = detail;
  return (
    // With −1 only documents with a ttl of their own expire.
    (container.defaultTtl ?? 0) > 0 ||
    fieldsIn(container).has('ttl') ||
    detail.derived ||
    (facts.design !== undefined && isSaid(facts.design, detail, CONSIDERED, UNENDED))
  );
};

/** What a group does, in one partition for each group. */
const collectedIn = (facts: Facts): ContainerDetail[] =>
  facts.containers.filter(
    (detail) =>
      isCollected(detail) &&
      detail.container.partitionKey.length === 1 &&
      GROUP.test(detail.container.partitionKey[0] ?? ''),
  );

/** The containers of which B23 speaks. */
export const endlessIn = (facts: Facts): ContainerDetail[] =>
  collectedIn(facts).filter((detail) => !isEnded(facts, detail));

export const ENDLESS: readonly Rule[] = [
  {
    id: 'B23',
    title: 'A partition that collects what a group does has an end',
    severity: 'warning',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'With the key `/tenantId`, all audit entries of a tenant are in one logical partition. It holds 20 GB and takes 10,000 RU/s (ASM-E121), and nothing moves its documents elsewhere. The largest tenant reaches that first, and then its writes fail. The rule knows containers of what is collected (audit, events, messages, history) with one level of key that is a group. It accepts a TTL, and a sentence about the container that names its size, its retention or a finer key.',
    hint: 'Add a level to the key, such as the day or the user. Or set a TTL, and archive what is older.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      if (collectedIn(facts).length === 0) {
        yield missing('a container that collects what a group does');
        return;
      }
      const open = endlessIn(facts);
      yield* together(
        open.map((detail) => ({ at: facts.place(detail, 'partitionKey') })),
        `${open.map(({ container }) => container.name).join(', ')}: all documents of a value of ${open[0]?.container.partitionKey[0]} are in one logical partition, which holds 20 GB, and nothing ends them`,
      );
    },
  },
];
