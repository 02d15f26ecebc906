// C33: addresses and names of people as keys or ids, which people write in several ways.
import type { ContainerDetail } from '../documents.ts';
import type { Place } from '../model.ts';
import { type Facts, examplesIn, valueAt } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';
import { linesSaying } from './said.ts';

/** Fields of which people write the value, in several ways. */
export const WRITTEN = /^(?:user_?)?(?:e_?mail(?:_?address)?|upn|user_?name|login(?:_?name)?)$/i;
const ADDRESS = /^[^@\s]+@[^@\s]+\.[a-z]+$/i;
const ONE_SPELLING =
  /\blower[- ]?cas|\bto_?lower|\bcase[- ]?(?:in)?sensitiv|\bnormali[sz]ed? (?:the )?(?:e-?mail|address|user ?name|login|upn|to\b)|\bcanonical(?:i[sz]e\w*)? (?:e-?mail|address|user ?name)|\bhash of the (?:lower|normal)|\bLOWER\(/i;

/** Where an address or a name is the key or the id. */
function writtenIn(facts: Facts, detail: ContainerDetail): Place[] {
  const { container } = detail;
  const [key = ''] = container.partitionKey;
  if (key === '') return [];
  const shown = examplesIn(container);
  const byName = WRITTEN.test(key.slice(1)) ? [facts.place(detail, 'partitionKey')] : [];
  const byValue = shown.flatMap((one) =>
    ['/id', key].flatMap((path) => {
      const value = valueAt(one, path);
      return typeof value === 'string' && ADDRESS.test(value) ? [facts.field(one, path.slice(1), container.at)] : [];
    }),
  );
  return [...byName, ...byValue];
}

export const SPELLING: readonly Rule[] = [
  {
    id: 'C33',
    title: 'An address that is a key or an id is written in one way',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Item IDs and partition keys in Azure Cosmos DB')}`,
    why: 'Ids and key values are compared letter by letter (ASM-E134). `Ada@x.org` and `ada@x.org` are one person and two documents, in two partitions, and a lookup by the other spelling finds nothing. The rule looks for keys and ids that are an e-mail address, a user name or a login. It accepts a sentence that says lower case, or how the address is normalised.',
    hint: 'Write where the address is brought to one form (lower case, no blanks) before it becomes a key. Better is an id of the person, with a document for each address.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const all = facts.containers.flatMap((detail) =>
        // A copy has what its source has.
        detail.derived ? [] : writtenIn(facts, detail).map((at) => ({ detail, at })),
      );
      if (all.length === 0) {
        yield missing('an address or a login as a key or an id');
        return;
      }
      if (linesSaying(design, ONE_SPELLING).length > 0) return;
      const names = [...new Set(all.map(({ detail }) => detail.container.name))];
      yield* together(
        all,
        `${names.join(', ')}: the same address in other letters is another key, and no sentence gives it one form`,
      );
    },
  },
];
