// B26 and B27: a database for each tenant.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import type { Facts } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, n, together } from './rule.ts';
import { linesSaying } from './said.ts';

const EACH =
  /\bdatabase[- ](?:per|for (?:each|every))[- ](?:tenant|customer|client|organi[sz]ation)\b|\b(?:one|a|own|separate|dedicated) database (?:per|for (?:each|every)) (?:tenant|customer|client|organi[sz]ation)\b|\bdatabase\b[^.|]{0,6}\((?:por|para) cada tenant\)|\b(?:base de datos|database) (?:por|para cada) (?:tenant|cliente)|\bdatabases?\b[^\n]{0,40}\bid: `(?:tenant|customer|org)[-_]\$\{/i;
const DENIED =
  /\b(?:no|not|never|avoid\w*|instead of|rather than|unlike|vs\.?|reject\w*|option [b-z]|alternative|don['’]t|without|future|could|if)\b/i;
const TENANTS = /(?<count>\d[\d,.]*)\+?(?<times>k)?\+? (?:active )?(?:tenants|customers|clients|organi[sz]ations)\b/gi;

/** Databases and containers of one account (ASM-E142). */
const MOST = 500;
const TENANT_KEY = /^\/(?:tenant|customer|client|organi[sz]ation|org)_?id$/i;

/** They are spread. */
const ACCOUNTS = /\b(?:several|multiple|more|additional|many) (?:cosmos (?:db )?)?accounts\b|\baccount per\b/i;
/** Databases of another service. */
const OTHER = /(?<!no)\bSQL\b(?! API)|postgres|mysql/i;

function eachIn(design: Design): { readonly at: Place }[] {
  const all = linesSaying(design, EACH).filter(([, text]) => !DENIED.test(text));
  return all.some(([, text]) => OTHER.test(text)) ? [] : all.map(([line]) => ({ at: { file: design.file, line } }));
}

interface Tenants {
  readonly count: number;
  readonly at: Place;
}

/** The most tenants that the text speaks of. */
function mostOf(design: Design): Tenants | undefined {
  const all = linesSaying(design, new RegExp(TENANTS.source, 'i')).flatMap(([line, text]) =>
    [...text.matchAll(TENANTS)].map(({ groups }) => ({
      count: Number(groups?.['count']?.replaceAll(/[,.]/g, '')) * (groups?.['times'] === undefined ? 1 : 1000),
      at: { file: design.file, line },
    })),
  );
  return all.toSorted((a, b) => b.count - a.count)[0];
}

function* check(facts: Facts, find: (design: Design, each: readonly { readonly at: Place }[]) => Iterable<RuleResult>) {
  const { design } = facts;
  if (!design) return;
  const each = eachIn(design);
  if (each.length === 0) yield missing('a database for each tenant');
  else yield* find(design, each);
}

export const DATABASES: readonly Rule[] = [
  {
    id: 'B26',
    title: 'The databases and containers of all tenants fit into the accounts',
    severity: 'error',
    source: SOURCES.microsoft('Azure Cosmos DB service quotas and default limits'),
    why: 'An account has at most 500 databases and containers together (ASM-E142). With a database for each tenant, and the containers of the design in each, that is reached after some tens of tenants, and the next one can’t be created. The rule multiplies the most tenants that the text names by the containers of the design and their database. It passes over sentences that reject a database for each tenant.',
    hint: 'Share the containers, and begin their keys with the tenant. Or write how tenants are spread over accounts.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      yield* check(facts, function* found(design, each) {
        const most = mostOf(design);
        if (!most) {
          yield missing('the number of tenants');
          return;
        }
        const own = facts.containers.length + 1;
        if (most.count * own > MOST && facts.containers.length > 0 && !ACCOUNTS.test(design.lines.join('\n')))
          yield* together(
            each,
            `${n(most.count)} tenants with a database and ${facts.containers.length} containers each are ${n(most.count * own)}, and an account has at most ${MOST}`,
            [most.at],
          );
      });
    },
  },
  {
    id: 'B27',
    title: 'The key spreads the documents of a database that one tenant has',
    severity: 'error',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'In a database of one tenant the tenant’s id has one value. As the key it puts all documents of a container into one logical partition, which holds 20 GB and takes 10,000 RU/s (ASM-E121), and it isolates nothing, because the database does. The rule looks at the keys of documents that choose a database for each tenant.',
    hint: 'Choose a key with many values within a tenant, such as the user. Or share the containers among the tenants.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      yield* check(facts, function* found(_, each) {
        const single = facts.containers.filter(
          ({ container }) => container.partitionKey.length === 1 && TENANT_KEY.test(container.partitionKey[0] ?? ''),
        );
        yield* together(
          single.map((detail) => ({ at: facts.place(detail, 'partitionKey') })),
          `${single.map(({ container }) => container.name).join(', ')}: in a database of one tenant the key ${single[0]?.container.partitionKey[0]} has one value, so all documents are in one partition`,
          each.map(({ at }) => at),
        );
      });
    },
  },
];
