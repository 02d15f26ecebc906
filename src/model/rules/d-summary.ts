// D17: summaries of other documents, and what renews them.
import type { ContainerDetail, Design } from '../documents.ts';
import type { Container, Place } from '../model.ts';
import { namedLike } from '../reader/owners.ts';
import type { Facts } from './facts.ts';
import { linesOf } from './declared.ts';
import { fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { isSaid, linesSaying } from './said.ts';

const NAME =
  /(?:^|[-_]|[a-z](?=[A-Z]))(?:summar(?:y|ies)|stats|statistics|roll-?ups?|aggregates?|overviews?|dashboards?|totals)$/i;
const PURPOSE =
  /\b(?:summar(?:y|ies)|roll-?ups?|aggregated|pre-?computed|materiali[sz]ed|statistics|views? (?:for|of) each)\b/i;
/** The last of many, and the summary of them, in the document of their owner. */
const FIELD = /^(?:last_?message(?:_?(?:at|text|preview|time|date|content))?|latest_?message|(?<of>[a-z]+)_?summary)$/i;

const RENEWED =
  /change[- ]?feed|projection|trigger|event[- ]driven|\bre-?(?:comput|build|built|generat|calculat|fresh|new|run)|\b(?:updated?|written|computed|generated|produced|maintained|filled|kept|calculated|populated)\b[^.|]{0,40}\b(?:by|when|whenever|on|after|with|each|every|from|via)\b|\bupdates?\b[^.|]{0,40}\b(?:when|whenever|after|each|every|on)\b|\bbatch|nightly|\bhourly|\bdaily (?:job|run)|\bschedule|\btimer|\bworker|\bpipeline|\bsync|\batomic|\bpatch|\btransaction|\bjob\b|\bincrement|\bupsert|snapshot/i;

const LABEL = /^\W{0,8}(?:purpose|description|目的|用途|prop[oó]sito)\b/i;

/** Its `Purpose` or `Description`, and its row of an overview. */
function purposeOf(design: Design, detail: ContainerDetail): string {
  const { from, to } = linesOf(design, detail);
  return design.lines
    .slice(from - 1, to - 1)
    .filter((line, index) => LABEL.test(line) || (index === 0 && line.startsWith('|')))
    .join('\n');
}

interface Summary {
  readonly name: string;
  readonly at: Place;
}

/** `case_summary` is of the documents of a case, if there are cases. */
function isSummary(field: string, containers: readonly Container[]): boolean {
  const found = FIELD.exec(field);
  const of = found?.groups?.['of'];
  return found !== null && (of === undefined || namedLike(of, containers) !== undefined);
}

function summariesIn(facts: Facts, design: Design): { readonly all: Summary[]; readonly open: Summary[] } {
  const containers = facts.containers.filter(
    (detail) => NAME.test(detail.container.name) || PURPOSE.test(purposeOf(design, detail)),
  );
  const all = facts.containers.map(({ container }) => container);
  const fields = facts.containers.flatMap((detail) =>
    fieldsOf(facts, detail)
      .filter(({ field }) => isSummary(field, all))
      .map(({ field, at }) => ({ detail, field, name: `${field} of ${detail.container.name}`, at })),
  );
  const named = (detail: ContainerDetail): Summary => ({
    name: detail.container.name,
    at: facts.place(detail, 'partitionKey'),
  });
  return {
    all: [...containers.map(named), ...fields],
    open: [
      ...containers.filter((detail) => !detail.derived && !isSaid(design, detail, RENEWED)).map(named),
      ...fields.filter(
        ({ detail, field }) =>
          !detail.derived &&
          !isSaid(design, detail, RENEWED) &&
          !facts.into(detail.container.name).some(({ fieldsText }) => fieldsText.includes(field)) &&
          !linesSaying(design, RENEWED).some(([, text]) => text.includes(field)),
      ),
    ],
  };
}

export const SUMMARIES: readonly Rule[] = [
  {
    id: 'D17',
    title: 'A summary of other documents has something that renews it',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Data modeling in Azure Cosmos DB')}`,
    why: 'A container of summaries, a field such as `lastMessage`, and a text that a model wrote about other documents follow from those. After the next message, edit or deletion they are wrong until something writes them again, and Cosmos DB has nothing that does. The rule knows them by the container’s name or purpose and by the field’s name. It accepts a projection, and any sentence about the container, or with the field’s name, that says what renews it.',
    hint: 'Write what renews it, and when: a projection from the change feed, a batch in the same partition, a job. Or call it a snapshot.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const { all, open } = summariesIn(facts, design);
      if (all.length === 0) {
        yield missing('a summary of other documents');
        return;
      }
      yield* together(
        open,
        `${open.map(({ name }) => name).join(', ')}: nothing is said to renew ${open.length === 1 ? 'it' : 'them'} when the source changes`,
      );
    },
  },
];
