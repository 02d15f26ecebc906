// D18: counts that a list shows, and that its documents don't have.
import type { ContainerDetail, Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { namedLike } from '../reader/owners.ts';
import type { Declared } from './declaration.ts';
import { declaredIn } from './declared.ts';
import { type Facts, fieldsIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

/** `class CaseSummaryResponse(BaseModel):`, `interface CaseRow {`; what it is for is the end of its name. */
const OPENS =
  /^\s*(?:export\s+)?(?:public\s+)?(?:sealed\s+)?(?:class|interface|record|type)\s+(?<entity>[A-Z]\w*?)(?:Summary|List|Overview|Card|Row|Item|View|Detail|Dto|DTO|Response|Model)+\b/;
/** Cheaper than the form itself. */
const KEYWORD = /class |interface |record |type /;
const CLOSES = /^\s*(?:export\s+)?(?:public\s+)?(?:class|interface|record|type|enum)\s|^\s*(?:`{3}|~{3})/;
const COUNT =
  /^(?:[a-z]+_?count|num(?:ber)?_?of_?\w+|[a-z]+s_?(?:processed|completed|pending|total|failed|done)|total_?[a-z]+s)$/i;
/** The length of the list itself. */
const LENGTH =
  /^(?:total_?(?:count|items|pages|results|records|rows)|page_?count|item_?count|count|(?:result|row)s?_?count)$/i;
/** Fewer common fields don't show that a document is meant. */
const COMMON = 3;
const COMPUTED =
  /\bcomputed|\bdenormali|\baggregat|\bmaterial|\bprojection|change feed|\bincrement|\bCOUNT\(|\bmaintain|\bcached\b/i;

interface Shown {
  readonly detail: ContainerDetail;
  readonly fields: readonly Declared[];
}

/** The types of a program that are called like a container, with their fields. */
function shownIn(facts: Facts, design: Design): Shown[] {
  const all = facts.containers.map(({ container }) => container);
  return design.lines.flatMap((line, index): Shown[] => {
    const entity = line.length > 400 || !KEYWORD.test(line) ? undefined : OPENS.exec(line)?.groups?.['entity'];
    const container = entity === undefined ? undefined : namedLike(entity, all);
    const detail = facts.containers.find((one) => one.container === container);
    if (!container || !detail) return [];
    const next = design.lines.findIndex((text, at) => at > index && CLOSES.test(text));
    const end = next < 0 ? design.lines.length : next;
    return [{ detail, fields: declaredIn(design).filter(({ at }) => at.line > index + 1 && at.line <= end) }];
  });
}

/** The counts among the fields of a type that has fields of the container's documents. */
function countsOf({ detail: { container }, fields }: Shown): { readonly field: string; readonly at: Place }[] {
  const stored = fieldsIn(container);
  if (fields.filter(({ field }) => stored.has(field)).length < COMMON) return [];
  return fields.filter(({ field }) => COUNT.test(field) && !LENGTH.test(field) && !stored.has(field));
}

export const SHOWN: readonly Rule[] = [
  {
    id: 'D18',
    title: 'Counts that a list shows are in its documents',
    severity: 'warning',
    source: SOURCES.microsoft('Modeling data in Azure Cosmos DB'),
    why: 'A type of the interface has a count, such as the documents of a case, and the documents of the container don’t. Then each row of the list takes a query of its own, which may cross partitions: a page of 50 rows takes 51 requests. The rule compares types in programs that are called like a container, and have three fields of its examples, with those examples. It accepts a sentence with the field’s name that says how it is computed.',
    hint: 'Store the count in the document, and write what keeps it right: an aggregate by the change feed, or a batch in the same partition.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const all = shownIn(facts, design);
      if (all.length === 0) {
        yield missing('a type of the interface that is called like a container');
        return;
      }
      const open = all.flatMap((shown) =>
        countsOf(shown)
          .filter(({ field }) => !linesSaying(design, COMPUTED).some(([, text]) => text.includes(field)))
          .map((one) => ({ ...one, detail: shown.detail })),
      );
      for (const [detail, counts] of Map.groupBy(open, (one) => one.detail))
        yield* together(
          counts,
          `${[...new Set(counts.map(({ field }) => field))].join(', ')}: shown for each of ${detail.container.name}, whose documents don’t have ${counts.length === 1 ? 'it' : 'them'}, so each row takes a query`,
          [detail.container.at],
        );
    },
  },
];
