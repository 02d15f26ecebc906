// F17: documents that are of use for a time only.
import type { ContainerDetail } from '../documents.ts';
import { type Facts, fieldsIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, more } from './rule.ts';
import { isSaid } from './said.ts';

const FOR_A_TIME =
  /de-?dup|idempoten|debounc|throttl|rate[-_ ]?limit|(^|[-_ ])cache\b|cache[ds]?$|(^|[-_])otps?\b|verification[-_ ]?codes?|nonces?\b|password[-_ ]?resets?|refresh[-_ ]?tokens?|magic[-_ ]?links?|invite[-_ ]?codes?|heartbeats?|processed[-_ ]?(events|messages|requests)|typing|(^|[-_])presence$|(?<!audit[-_ ])(?<!audit)\blogs?$|[-_ ]logs?$|dead[-_ ]?letter|(^|[-_])dlq$|(^|[-_])telemetry$|attempts$|lockouts?$/i;
/** Of a purpose only these are certain. */
const PURPOSE =
  /\binvite codes?\b|\bverification codes?\b|\bde-?duplicat|\bidempoten|\bdebounc|\bthrottl|\brate[- ]limit|\bone-time (code|password)|\b\d+[- ](?:hour|minute)s?\b/i;
const ENDS =
  /^(?!.*\b(?:consider|should|todo|next steps?|recommended)\b).*(?:\bttl\b|time[- ]to[- ]live|expir|clean[- ]?up|purg|retention|retain|delet|evict|remov)/i;

export function isForATime({ design }: Facts, detail: ContainerDetail): boolean {
  const purpose = detail.prose.filter(({ label }) => /purpose|description|zweck|用途|目的/i.test(label ?? ''));
  const name = detail.container.name.replaceAll(/([a-z])([A-Z])/g, '$1-$2');
  // A row of an overview has the purpose in one of its cells.
  const row = design?.lines[detail.container.at.line - 1] ?? '';
  return (
    FOR_A_TIME.test(name) ||
    purpose.some(({ text }) => PURPOSE.test(text)) ||
    (row.startsWith('|') && PURPOSE.test(row))
  );
}

/** Whether its section, or a line with its name, says what ends its documents. */
function isEnded({ design }: Facts, detail: ContainerDetail): boolean {
  const { container } = detail;
  if (!design || container.defaultTtl !== undefined || fieldsIn(container).has('ttl')) return true;
  return isSaid(design, detail, ENDS);
}

export const TEMPORARY: readonly Rule[] = [
  {
    id: 'F17',
    title: 'Documents that are of use for a time have a TTL',
    severity: 'warning',
    source: SOURCES.microsoft('Time to Live (TTL) in Azure Cosmos DB'),
    why: 'Marks against repeated requests, caches, one-time codes and counters of a rate limit are worthless after minutes or days. Without a TTL they are kept and paid for, and their container grows for ever. The rule reads the name of the container and its purpose. It accepts any sentence about the container that says what ends them.',
    hint: 'Set a default TTL that is longer than the time in which a request can be repeated.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const all = facts.containers.filter((detail) => isForATime(facts, detail));
      if (all.length === 0) {
        yield missing('a container whose documents are of use for a time');
        return;
      }
      const [first, ...others] = all.filter((detail) => !isEnded(facts, detail));
      if (first)
        yield {
          message: `${first.container.name}${more(others.length)}: documents that are of use for a time, and nothing ends them`,
          at: facts.place(first, 'partitionKey'),
          related: others.map((detail) => facts.place(detail, 'partitionKey')),
        };
    },
  },
];
