// D19: counts over everything, on a page that many people open.
import { fieldsIn } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';
import { saying } from './service.ts';

const SHOWS =
  /\b(?:dashboard|statistics|stats|overview|KPIs?)\b[^.|]{0,80}\b(?:counts?|totals?|number of)\b|\b(?:counts?|totals?|number of)\b[^.|]{0,60}\b(?:on|in|for) (?:the|a|an|its) (?:\w+ )?(?:dashboard|overview)\b|\bGET\b[\s|*`]{1,8}\/(?:[\w-]+\/)*(?:stats|statistics|dashboard(?:\/\w+)?)\b(?![/{:])/i;
/** Of one partition, of the service's own metrics, or only planned. */
const OTHER =
  /\b(?:per|each|by) (?:user|tenant|customer|organi[sz]ation|team)\b|\bmy\b|\badmin|[{:](?:user|tenant|org|customer)|\bRU(?:\/s|s)?\b|\bazure (?:portal|monitor)|grafana|latency|app(?:lication)? insights|\balert|\b(?:future|planned|roadmap|phase \d|todo|later)\b/i;
/** Something has the figures before anybody asks. */
const KEPT =
  /pre-?(?:aggregat|comput|calculat)|materiali[sz]|roll-?up|\bprojection|\b(?:cached?|caching)\b|\bcounter (?:document|item|container)|summary (?:document|item|container)|\baggregat(?:es?|ed|ion)\b[^.|]{0,30}\b(?:document|container|job|feed)|analytical store|synapse|\bfabric\b|\bnightly|\bincrement|[預预]聚合|事前集計/i;
const SUMMARY = /stat|summar|metric|analytic|aggregat|roll-?up|dashboard|counter|total/i;
/** Figures in the document of what they are about. */
const FIGURES = /^(?:metrics|stats|statistics|counts|totals)$/i;

export const DASHBOARDS: readonly Rule[] = [
  {
    id: 'D19',
    title: 'Counts on a page that everybody opens are kept, not counted at each visit',
    severity: 'warning',
    source: SOURCES.microsoft('Query a container in Azure Cosmos DB'),
    why: 'A count over a whole container reads the index of every partition, costs more with each document, and is asked again at each visit and each refresh of the page. A document with the figures costs 1 RU. The rule reads sentences about counts and totals on a dashboard, and addresses such as `GET /api/stats`. It is silent if a container has the figures, if any sentence says that they are kept, cached or computed before, and about figures of one user or tenant.',
    hint: 'Keep the figures in a document: an aggregate from the change feed. Or cache the answer, and write for how long.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const shown = saying(design, SHOWS).filter(({ text }) => !OTHER.test(text));
      if (shown.length === 0 || containers.length === 0) {
        yield missing('counts on a dashboard');
        return;
      }
      const isKept =
        containers.some(
          ({ container, derived }) =>
            derived || SUMMARY.test(container.name) || [...fieldsIn(container)].some((field) => FIGURES.test(field)),
        ) || linesSaying(design, KEPT).length > 0;
      if (!isKept) yield* together(shown, 'These figures are counted over all documents each time, in every partition');
    },
  },
];
