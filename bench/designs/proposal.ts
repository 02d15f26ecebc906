// The plan of a written data model: its containers, and the operations of its mapping.
import type { ContainerDetail, Design, PatternMapping } from '../../src/model/documents.ts';
import { physicalPartitions } from '../../src/model/estimate.ts';
import { parentField } from '../../src/model/propose/design.ts';
import type { Entity, Needs } from '../../src/model/propose/needs.ts';
import type { Data, Doc } from './data.ts';
import type { Place, Plan, Put, Step } from './measure.ts';

const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
/** Bytes of an aggregate's row, and of what it remembers of a document. */
const ROW = 300;

export function planOf(needs: Needs, design: Design): Plan {
  const entityOf = (type: string): Entity | undefined => needs.entities.find(({ name }) => lower(name) === type);
  const typesOf = design.containers.flatMap((detail) =>
    detail.container.types.map(({ name, examples: [example] }) => ({ name, example: example ?? {}, detail })),
  );
  const typed = (name: string) => typesOf.find((type) => type.name === name);

  /** The document of an entity as the example of its type has it. */
  const shaped = (doc: Doc, entity: Entity, data: Data): Doc => {
    const more = Object.entries(typed(lower(entity.name))?.example ?? {}).flatMap(
      ([field, value]): [string, unknown][] => {
        if (field in doc) return [];
        if (Array.isArray(value)) return [[field, childrenOf(needs, entity, field, doc, data)]];
        // A parent beside its children carries its id under their name for it.
        return [[field, field === 'type' ? value : doc.id]];
      },
    );
    return { ...doc, ...Object.fromEntries(more) };
  };
  const rows = design.projections.flatMap((row) => {
    const from = entityOf(row.source?.type ?? '');
    const into = typed(row.sink?.type ?? '');
    return from && into ? [{ row, from, into, stable: /\bstable\b/.test(row.keyText) }] : [];
  });
  type Derivation = (typeof rows)[number];
  const derivedDoc = ({ row, from, into }: Derivation, doc: Doc, data: Data): Doc => {
    if (row.kind === 'copy') return { ...shaped(doc, from, data), type: into.name };
    const values = row.keys.toSorted().map((field) => String(doc[field]));
    const group = Object.fromEntries(row.keys.map((field) => [field, doc[field]]));
    return padded({ ...group, id: [into.name, ...values].join('|'), type: into.name });
  };
  /** Where an entity's documents are: its own, or its parent's that hold it. */
  const homeOf = (entity: Entity) => typed(lower(entity.name));
  const holderOf = (entity: Entity, doc: Doc, data: Data): { entity: Entity; doc: Doc } => {
    if (homeOf(entity)) return { entity, doc };
    const parent = needs.entities.find(
      (one) => entity.fields.some(({ name }) => name === `${lower(one.name)}Id`) && homeOf(one),
    );
    if (!parent) throw new Error(`${entity.name} has no place`);
    const id = doc[parentField(parent, entity)];
    const held = data.get(parent.name)?.find((one) => one.id === id);
    if (!held) throw new Error(`there is no ${String(id)}`);
    return { entity: parent, doc: held };
  };

  return {
    places: design.containers.map(placeOf),
    stored: (data): Put[] =>
      needs.entities.flatMap((entity) => {
        const home = homeOf(entity);
        const docs = home ? (data.get(entity.name) ?? []) : [];
        return docs.flatMap((doc) => [
          { place: home!.detail.container.name, doc: shaped(doc, entity, data) },
          ...rows
            .filter(({ from }) => from === entity)
            .map((one) => ({ place: one.into.detail.container.name, doc: derivedDoc(one, doc, data) })),
        ]);
      }),
    steps: (id, asked, data): Step[] => {
      const access = needs.accesses.find((one) => one.id === id)!;
      const mapping = design.mapping.find(({ ids }) => ids.includes(id))!;
      const own = needs.entities.find(({ name }) => name === access.entity)!;
      const { entity, doc } = holderOf(own, asked, data);
      return mapping.operations.length === 0
        ? []
        : stepsOf(mapping, {
            doc: shaped(doc, entity, data),
            derived: rows.filter(({ row }) => row.serves.includes(id)).map((one) => derivedDoc(one, doc, data))[0],
            // A point read of elements finds the parent; a query by fields of the child has the child's.
            values: { ...doc, ...asked, ...(entity === own ? {} : { id: doc.id }), ...shaped(doc, entity, data) },
          });
    },
    derived: (id, asked, data): Step[] => {
      const access = needs.accesses.find((one) => one.id === id)!;
      if (!['create', 'update', 'delete'].includes(access.kind)) return [];
      const own = needs.entities.find(({ name }) => name === access.entity)!;
      const { entity, doc } = holderOf(own, asked, data);
      return rows
        .filter(({ from }) => from === entity)
        .flatMap((one): Step[] => {
          const place = one.into.detail.container.name;
          const row = derivedDoc(one, doc, data);
          const [stamp] = [`${doc.id}-${id}`];
          const remembered = (what: string): Step => ({
            kind: 'upsert',
            place,
            doc: padded({ ...row, id: `${what}-${stamp}`, filler: '' }),
          });
          // As `model cost` counts it: the row, what an aggregate remembers of the document, and a locator.
          return [
            { kind: 'upsert', place, doc: row },
            ...(one.row.kind === 'aggregate' ? [remembered('part')] : []),
            ...(one.stable ? [] : [remembered('locator')]),
          ];
        });
    },
  };
}

function stepsOf(
  { operations, queries, containers }: PatternMapping,
  { doc, derived, values }: { doc: Doc; derived: Doc | undefined; values: Readonly<Record<string, unknown>> },
): Step[] {
  const [place = '', other = place] = containers;
  return operations.flatMap((operation): Step[] => {
    switch (operation) {
      case 'point-read':
        return [{ kind: 'point-read', place, doc: derived ?? doc }];
      case 'create':
      case 'replace':
      case 'delete':
        return [{ kind: operation, place, doc }];
      case 'query':
      case 'cross-partition':
        return queries.map((query, at): Step => {
          const names = [...query.text.matchAll(/@(\w+)/g)].map(([, name = '']) => name);
          const first = at === 0 && !operations.includes('point-read');
          return {
            kind: 'query',
            place: first ? place : (containers[at + (operations.includes('point-read') ? 1 : 0)] ?? other),
            text: query.text,
            values: Object.fromEntries(names.map((name) => [name, values[name]])),
          };
        });
      case 'batch':
      case 'patch':
      case 'upsert':
        break;
    }
    throw new Error(`a proposal has no ${operation}`);
  });
}

function placeOf({ container, index, data }: ContainerDetail): Place {
  const paths = index.included.map(({ text }) => text);
  return {
    name: container.name,
    paths: container.partitionKey,
    partitions: physicalPartitions(data?.gb ?? 0, container.throughput?.max ?? 0),
    ...(paths.length > 0 && !paths.includes('/*') && { indexed: paths }),
  };
}

function childrenOf(needs: Needs, parent: Entity, field: string, doc: Doc, data: Data): readonly Doc[] {
  const child = needs.entities.find(({ name }) => field.toLowerCase().startsWith(name.toLowerCase().replace(/y$/, '')));
  if (!child) return [];
  const by = parentField(parent, child);
  return (data.get(child.name) ?? []).filter((one) => one[by] === doc.id);
}

const padded = (doc: Doc): Doc => ({
  ...doc,
  filler: 'x'.repeat(Math.max(0, ROW - JSON.stringify({ ...doc, filler: '' }).length)),
});
