// G14, G16, G17 and G20: the tenant, the words of the section, the date of an archive, and the hubs of events.
import { isUnindexed, unindexed } from '../pipeline/archive-index.ts';
import { type Rule, SOURCES, missing, noDesign } from '../model/rules/rule.ts';
import { differencesOf } from './columns.ts';
import type { Contract } from './declared.ts';
import { SECTION, noPipeline } from './same-projections.ts';

/** Names that differ only in case are taken for one hub. */
const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

export function agreement(contract: Contract): Rule[] {
  const { pipeline } = contract;
  return [
    {
      id: 'G14',
      title: 'Code and document name the same tenant',
      source: SOURCES.tenancy,
      why: 'The pipeline’s `tenant` decides which tenant a change belongs to. Millrace then refuses a projection that combines tenants, unless it declares `acrossTenants: true`. Without `tenant` nothing is refused.',
      hint: 'Name the document’s field in `definePipeline({ tenant: … })`, or correct the document’s bullet "Tenancy".',
      *check(facts) {
        if (!pipeline) {
          yield noPipeline;
          return;
        }
        const stated = facts.tenant;
        if (!stated) {
          if (pipeline.tenant !== undefined) yield missing('the document’s tenant (a bullet "Tenancy")');
          return;
        }
        if (pipeline.tenant === stated.field) return;
        const at = contract.placeOf('tenant');
        if (pipeline.tenant === undefined)
          yield {
            severity: 'warning',
            message: `The document’s tenant is ${stated.field}, but the pipeline declares none`,
            at: stated.at,
            related: [at],
          };
        else
          yield {
            message: `The document’s tenant is ${stated.field}, but the pipeline’s is ${pipeline.tenant}`,
            at: stated.at,
            related: [at],
          };
      },
    },
    {
      id: 'G16',
      title: 'The code does what the projections section says',
      why: 'The rule reads the words of a row: `destination = origin`, `customer.name → customerName`, `cents = sum(quantity × priceCents)`, `top 3 days by cents`, `not cancelled`, `in status placed, paid`, `each line`, `waits for it`, `stable` behind a key mapping, `type orders.placed, version 1` of events. It runs the code’s functions on the source examples, and on examples in which one value is changed: a number to both sides of a limit, a status to each known one. It skips words of other forms.',
      hint: 'Correct the words or the code.',
      needs: [SECTION],
      *check(facts) {
        if (!pipeline || !facts.design) {
          yield pipeline ? noDesign : noPipeline;
          return;
        }
        yield* differencesOf('G16', facts, contract);
      },
    },
    {
      id: 'G17',
      title: 'The date of an archive is indexed',
      severity: 'warning',
      why: 'A sweep asks the container for the documents whose date is old enough. If the policy leaves the date out, each sweep reads all documents of the container, and its RU grow with the container and not with what is due. No row of the mapping has this query, so no other rule sees it. An archive whose condition alone decides needs no date.',
      hint: 'Include the path of the date in the indexing policy of the source.',
      *check(facts) {
        if (!pipeline || !facts.design) {
          yield pipeline ? noDesign : noPipeline;
          return;
        }
        for (const spec of pipeline.archives) {
          const detail = facts.detail(spec.from.container);
          const declared = contract.named(spec.name);
          // A source with an upcast is read by its feed, since the date may come from another field.
          const upcast = pipeline.sources.some(
            (of) => of.container === spec.from.container && of.type === spec.from.type && of.upcast !== undefined,
          );
          if (!detail || !declared || upcast || !isUnindexed(spec, detail.container.indexingPolicy)) continue;
          yield {
            ...unindexed(spec),
            at: facts.place(detail, 'indexingPolicy'),
            related: [contract.at(declared, spec.dateField)],
          };
        }
      },
    },
    {
      id: 'G20',
      title: 'Events are published to the hub that the document names, and not to one that the pipeline reads',
      why: 'Consumers read the hub that the document names, and get no event from another one. An event in the hub that an ingest of the same pipeline reads comes back: as a document, whose change is published again, or as a dead letter for each event.',
      hint: 'Correct the hub in the code or in the document.',
      *check(facts) {
        if (!pipeline) {
          yield noPipeline;
          return;
        }
        for (const { name, to } of pipeline.publishes) {
          const declared = contract.named(name);
          if (!declared) continue;
          const at = contract.at(declared, to);
          const row = facts.rows.find((one) => one.name === name);
          const path = /\b(?:event[ -]?hub)s?\s*[:/]\s*`?([\w./-]+)/i.exec(row?.sinkText ?? '')?.[1];
          const stated = path
            ?.replace(/(?<![./])[./]+$/, '')
            .split('/')
            .at(-1);
          if (row && stated !== undefined && !isSame(stated, to))
            yield {
              message: `${name} publishes to the hub ${stated} in the document, but to ${to} in the code`,
              at: row.at,
              words: stated,
              related: [at],
            };
          const reader = pipeline.ingests.find(({ from }) => isSame(from, to));
          if (reader)
            yield {
              message: `${name} publishes to the hub ${to}, which ${reader.name} reads: each event comes back`,
              at,
              related: [contract.placeOf(reader.name)],
            };
        }
      },
    },
  ];
}
