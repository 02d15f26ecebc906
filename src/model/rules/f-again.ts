// F22: a run that is done again, over documents that people have worked on.
import { isObject } from '../../base/json.ts';
import type { ContainerDetail, Design } from '../documents.ts';
import { isIn, linesOf } from './declared.ts';
import { type Facts, examplesIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying, textAround } from './said.ts';

const AGAIN =
  /\bre-?(?:runs?|running|analy[sz]\w*|process(?:es|ed|ing)?|ingest\w*|import\w*|scor(?:es?|ed|ing)|classif\w*|comput\w*)\b/i;
const WRITES = /\b(?:upserts?|overwrit\w+|replaces?)\b/i;
/** What people write, beside what the run writes. */
const OF_PEOPLE =
  /^(?:reviews?|verdicts?|approvals?|moderation|annotations?|corrections?|overrides?|human\w+|manual\w+|(?:reviewed|approved|verified|confirmed|corrected|labell?ed|assigned|resolved)_?(?:by|at)?|reviewer(?:Id)?)$/i;
const SPARED =
  /\b(?:patch\w*|partial(?:ly)?|only (?:the |its |those )?(?:own )?fields|merg\w+|keeps? (?:the |their )?(?:reviews?|verdicts?|fields)|if-match|conditional\w*|unless (?:it is )?reviewed)\b/i;
const CLEARED = /\b(?:delet\w+|remov\w+|prun\w+|sweep\w*|run_?id|generation|tombstone\w*|\bttl\b)\b/i;
const NEAR = 2;

/** The container that a line is about: in its section, or by its name. */
const aboutOf = (facts: Facts, design: Design, line: number): ContainerDetail | undefined =>
  facts.containers.find((detail) => isIn(linesOf(design, detail), line)) ??
  facts.containers.find(({ container }) => textAround(design, line, NEAR).includes(`\`${container.name}\``));

const ofPeople = ({ container }: ContainerDetail): string[] => [
  ...new Set(
    examplesIn(container).flatMap((one) =>
      Object.entries(one).flatMap(([field, value]) =>
        OF_PEOPLE.test(field) && (isObject(value) || value === null || /by|at|er$/i.test(field)) ? [field] : [],
      ),
    ),
  ),
];

export const DONE_AGAIN: readonly Rule[] = [
  {
    id: 'F22',
    title: 'A run that is repeated keeps what people wrote, and clears what it no longer makes',
    severity: 'error',
    source: SOURCES.microsoft('Partial document update in Azure Cosmos DB'),
    why: 'An upsert with a deterministic id writes the whole document. That makes a repeated run harmless for what the run itself made, but not for the review, approval or correction that somebody added since: it is replaced by the empty one of the new document. And what the new run doesn’t make any more stays with its old id, beside the new documents, and is listed and counted. The rule reads sentences by which a run is repeated and upserts, about containers whose examples have fields of people. It accepts a patch of the run’s own fields, and a deletion of what is left over.',
    hint: 'Let the run patch its own fields only (or create and ignore 409), and keep reviews in a document of their own. Write the id of the run into each document, and delete those of older runs at its end.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const runs = linesSaying(design, AGAIN).flatMap(([line, text]) => {
        const next = textAround(design, line, 0, 1);
        const detail = text.startsWith('#') || !WRITES.test(next) ? undefined : aboutOf(facts, design, line);
        const fields = detail ? ofPeople(detail) : [];
        return detail && fields.length > 0
          ? [{ detail, fields, near: textAround(design, line, NEAR), at: { file: design.file, line } }]
          : [];
      });
      const [first] = runs;
      if (!first) {
        yield missing('a run that is repeated over what people write');
        return;
      }
      const shown = first.detail.container.types.map(({ at }) => at);
      const lost = runs.filter(({ near }) => !SPARED.test(near));
      yield* together(
        lost,
        `${first.detail.container.name}: the repeated run writes whole documents, and with them an empty ${first.fields.join(', ')} over what people wrote`,
        shown,
      );
      yield* together(
        runs.filter(({ near }) => !CLEARED.test(near)),
        `${first.detail.container.name}: what the repeated run no longer makes stays, because it only upserts`,
      );
    },
  },
];
