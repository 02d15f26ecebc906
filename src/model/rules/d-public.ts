// D12: what all people read, in partitions of those who wrote it.
import type { ContainerDetail } from '../documents.ts';
import type { Facts } from './facts.ts';
import { fieldsOf } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing } from './rule.ts';
import { isSaid } from './said.ts';

const WRITER =
  /^\/(?:author|user|owner|creator|created_?by|seller|host|publisher|poster|uploader|artist|chef|vendor)_?(?:id)?$/i;
const SHOWN = /^(?:is_?)?(?:public|published|shared|listed)$|^visibility$|^privacy$|^published_?at$/i;
const READ_BY_ALL =
  /\b(?:public|published|community|global) (?:feed|list\w*|posts?|recipes?|items?|content|timeline|gallery|board)\b|\b(?:all|consumed by all|home|discover\w*|explore|news) feeds?\b|\b(?:browse|explore|discover) (?:all |public |by )/i;
const SERVED =
  /cross[- ]partition|fan[- ]?out|materiali[sz]ed|change feed|\b(?:ai|cognitive|azure) search\b|elastic|\bderived (?:container|copy|view)|denormali/i;
const COPIED = /feed|timeline|public|catalog|discover|search|index|trending|listing/i;

/** A field, or a line about the container, that shows it to all. */
function shownBy(facts: Facts, detail: ContainerDetail) {
  const field = fieldsOf(facts, detail).find((one) => SHOWN.test(one.field));
  if (field) return field.at;
  const line = facts.design?.lines[detail.container.at.line - 1] ?? '';
  const said = [line, ...detail.prose.map(({ text }) => text)].some((text) => READ_BY_ALL.test(text));
  return said ? detail.container.at : undefined;
}

export const PUBLIC: readonly Rule[] = [
  {
    id: 'D12',
    title: 'What everyone reads has a container whose key serves the list of it',
    severity: 'warning',
    source: SOURCES.microsoft('Data modeling in Azure Cosmos DB'),
    why: 'With the key `/authorId` the posts of one author are one partition, and a public list reads those of all authors: each visit of the start page is a query of every partition. The rule looks for containers whose key is the writer, and whose documents have a field such as `isPublic` or `visibility`, or a purpose such as a public feed. It accepts a container for the list, and a sentence that names what serves it.',
    hint: 'Derive a container of what is public, whose key is that of the list, by a copy with `where`. Or state that the list crosses partitions, and how often it is read.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const written = facts.containers.filter(
        ({ container }) => container.partitionKey.length === 1 && WRITER.test(container.partitionKey[0] ?? ''),
      );
      const shown = written.flatMap((detail) => {
        const at = shownBy(facts, detail);
        return at ? [{ detail, at }] : [];
      });
      if (shown.length === 0) {
        yield missing('documents that all people read, by the key of their writer');
        return;
      }
      const copied = facts.containers.some(
        ({ container }) => COPIED.test(container.name) && !WRITER.test(container.partitionKey[0] ?? ''),
      );
      const open = shown.filter(
        ({ detail }) =>
          !copied &&
          !isSaid(design, detail, SERVED) &&
          facts
            .asked(detail)
            .every(({ queries }) => queries.every(({ filters }) => filters.every((one) => !SHOWN.test(one)))),
      );
      for (const { detail, at } of open)
        yield {
          message: `${detail.container.name}: a list of what is public reads every partition of ${detail.container.partitionKey.join(', ')}`,
          at,
          related: [facts.place(detail, 'partitionKey')],
        };
    },
  },
];
