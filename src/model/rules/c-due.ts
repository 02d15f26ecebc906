// C37: work that is due at a time, in partitions of something else.
import { isObject } from '../../base/json.ts';
import type { ContainerDetail, Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { saysCrossing } from '../reader/asked.ts';
import { declaredFor } from './declared-for.ts';
import { type Facts, examplesIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

/** When a program has to do something; not when a person has to. */
const DUE =
  /^(?:next_?(?:scheduled_?)?(?:run|execution|attempt|retry|check|sync|poll|billing|reminder|notification)(?:_?(?:at|date|time|on))?|(?:remind|notify|send|publish|trigger|run|retry|fire|execute|deliver)_?(?:at|time)|scheduled_?(?:for|at|time|run|publish\w*))$/i;
/** Somebody looks for what is due. */
const LOOKS = /\b(?:schedul\w+|poll\w*|timer\w*|cron\w*|worker\w*|background|reminders?|due)\b/i;
/** The key is of the time, or something else wakes the program. */
const BY_TIME = /bucket|slot|hour|minute|day|date|shard|due|status|time/i;
const WOKEN =
  /\b(?:scheduled (?:message|enqueue)\w*|ScheduledEnqueueTime\w*|durable (?:functions?|timers?|entit\w+)|visibility (?:timeout|delay)|quartz|hangfire|temporal|time buckets?|due[- ]?(?:index|bucket)\w*)\b/i;

interface Due {
  readonly detail: ContainerDetail;
  readonly field: string;
  readonly at: Place;
}

/** Names of a document and of the objects and elements in it. */
function namesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.slice(0, 1).flatMap(namesIn);
  return isObject(value) ? Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner)]) : [];
}

function dueIn(facts: Facts, design: Design): Due[] {
  return facts.containers.flatMap((detail): Due[] => {
    const { container, derived } = detail;
    if (derived || container.partitionKey.length === 0 || container.partitionKey.some((path) => BY_TIME.test(path)))
      return [];
    const shown = examplesIn(container).flatMap((one) =>
      [...new Set(namesIn(one))].map((field) => ({ field, at: facts.field(one, field, container.at) })),
    );
    const first = [...shown, ...declaredFor(design, detail)].find(({ field }) => DUE.test(field));
    return first ? [{ detail, field: first.field, at: first.at }] : [];
  });
}

/** A query by the field is judged by its own rule (C13), and a text may say that it crosses partitions. */
const isAnswered = (facts: Facts, design: Design, { detail, field }: Due): boolean =>
  facts
    .asked(detail)
    .some(({ queries }) => queries.some(({ filters }) => filters.some((path) => path.split('.').includes(field)))) ||
  linesSaying(design, LOOKS).some(([, text]) => saysCrossing(text));

export const DUE_WORK: readonly Rule[] = [
  {
    id: 'C37',
    title: 'What is due at a time is found without reading every partition',
    severity: 'warning',
    source: SOURCES.microsoft('Query a container in Azure Cosmos DB'),
    why: 'A scheduler asks each minute "what is due now?" and knows no customer. In a container whose key is the customer, that is a query over all partitions, and it is the most frequent one of all, also when nothing is due (ASM-E152). If the time stands in an array, no index serves it with its state either. The rule looks for fields such as `nextRunAt`, `remindAt` and `scheduledFor` in documents whose text speaks of a scheduler, a timer or reminders. It accepts a query by the field, a sentence that says cross-partition, and something that wakes the program at the time.',
    hint: 'Keep a document for each due time in a container whose key is the time bucket and a shard (`2026-01-01T10:05|3`), by a projection. Or send a scheduled message. Or write "cross-partition", how often it is asked and what it costs.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const all = dueIn(facts, design);
      const looks = linesSaying(design, LOOKS);
      if (all.length === 0 || looks.length === 0) {
        yield missing('a time at which something is due');
        return;
      }
      if (linesSaying(design, WOKEN).length > 0) return;
      const open = all.filter((one) => !isAnswered(facts, design, one));
      yield* together(
        open,
        `${open.map(({ detail, field }) => `${detail.container.name} (${field})`).join(', ')}: who looks for what is due knows no ${[...new Set(open.map(({ detail }) => detail.container.partitionKey[0]?.slice(1)))].join(', ')}, and reads every partition each time`,
        [
          ...open.flatMap(({ field }) =>
            linesSaying(design, LOOKS)
              .filter(([, text]) => text.includes(`\`${field}\``))
              .map(([line]) => ({ file: design.file, line })),
          ),
          ...open.map(({ detail }) => facts.place(detail, 'partitionKey')),
        ],
      );
    },
  },
];
