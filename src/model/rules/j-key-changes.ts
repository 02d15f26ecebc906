// J11: when a document gets its partition key's value, and whether it keeps it.
import { type Annotations, same } from '../annotations/annotations.ts';
import { accessesOf, alike, linesOf, listed, plain, typesIn } from '../annotations/merged.ts';
import { keyed } from './j-key-values.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, missing, quoted, together } from './rule.ts';

function* unfixed(annotations: Annotations, container: string, key: string): Iterable<Found> {
  const types = typesIn(annotations, container);
  const later = annotations.of('keyValue').filter((one) => same(one.container, container) && one.required === false);
  const optional = types.flatMap(({ fields }) =>
    fields
      .filter(({ path }) => alike(path, key))
      .flatMap(({ declared }) => declared.filter((one) => one.optional === true)),
  );
  const names = listed(later.flatMap(({ type }) => (type === undefined ? [] : [type])));
  yield* together(
    [...later, ...optional],
    `${container} is keyed by ${key}, and ${names === '' ? 'some documents' : names} may be created without it or get it later (${linesOf([...later, ...optional])}). A key value can’t be changed afterwards: the document must be deleted and created again under another key, which isn’t one transaction, and until then reads by ${key} don’t find it`,
    annotations.keysOf(container).map(({ at }) => at),
  );
  const changing = accessesOf(annotations, container).filter(
    ({ operation, sets = [] }) =>
      ['replace', 'patch'].includes(operation) &&
      sets.some((path) => alike(path, key) || (plain(path) === 'id' && plain(key) !== 'id')),
  );
  yield* together(
    changing,
    `${listed(changing.map(({ name }) => `"${quoted(name)}"`))} ${changing.length === 1 ? 'changes' : 'change'} ${listed(changing.flatMap(({ sets = [] }) => sets.filter((path) => alike(path, key) || plain(path) === 'id')))}, which is the key or the id of ${container}. The service refuses that: it takes a delete and a create, which aren’t one transaction over two key values, and references to the old one dangle`,
    annotations.keysOf(container).map(({ at }) => at),
  );
}

export const KEY_CHANGES: readonly Rule[] = [
  {
    id: 'J11',
    title: 'A document has its partition key’s value when it is created, and keeps it',
    severity: 'error',
    source: SOURCES.microsoft('Partitioning and horizontal scaling in Azure Cosmos DB'),
    why: 'The value of the partition key and the id of a document can’t be changed. A user who registers before he has a team can’t be stored by team, and moving him is a delete and a create in two partitions. The rule takes keys of which an annotation says that some documents lack them or get them later, optional fields, and writes that set the key or the id.',
    hint: 'Key the container by a value that the document has from its creation for ever, and keep the other as a field.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = keyed(annotations);
      if (all.length === 0) yield missing('a partition key in an annotation');
      for (const { container, key } of all) yield* unfixed(annotations, container, key);
    },
  },
];
