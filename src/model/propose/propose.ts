// Looks for the design with the lowest cost a month. Every considered design is written as a document, read, and costed as
// `model cost` does. Beginning with containers by id, it takes the single change that saves most, until none saves anything.
import { costsOf } from '../cost.ts';
import { DEFAULTS, HOURS_PER_MONTH, PROFILES, chargeOf } from '../estimate.ts';
import { n } from '../rules/rule.ts';
import type { Design } from '../documents.ts';
import { parseDesign } from '../reader/design.ts';
import { parseRequirements } from '../reader/requirements.ts';
import { averageOf, relationsOf } from '../relations.ts';
import { sum } from '../rules/facts.ts';
import { type Choices, type Way, containerOf, parentField, parentOf, reaches } from './design.ts';
import type { Needs } from './needs.ts';
import { designText, requirementsText } from './write.ts';

export interface Cost {
  /** RU/s of all containers. */
  readonly peak: number;
  readonly average: number;
  /** Units of 100 RU/s for an hour that a month is billed. */
  readonly hours: number;
}

export interface Option {
  readonly option: string;
  readonly chosen: boolean;
  readonly cost: Cost;
  /** Why it can't be chosen, whatever it costs. */
  readonly refused?: string;
}

export interface Decision {
  readonly decision: string;
  readonly options: readonly Option[];
}

export interface Proposal {
  readonly requirements: string;
  readonly design: string;
  readonly cost: Cost;
  readonly decisions: readonly Decision[];
  /** How many designs were costed. */
  readonly considered: number;
}

const PREVIEW = 'a preview of the service, without joins; Millrace doesn’t create it';

/** Bytes that an embedded list may have at most: half of what an item may have. */
const MOST = 1e6;

interface Alternative {
  readonly option: string;
  readonly choices: Choices;
  readonly refused?: string;
}

export function propose(needs: Needs): Proposal {
  const costs = new Map<string, Cost>();
  const costOf = (choices: Choices): Cost => {
    const known = JSON.stringify(choices);
    const cost = costs.get(known) ?? costed(needs, choices).cost;
    costs.set(known, cost);
    return cost;
  };
  let chosen = start(needs);
  const better = (a: Choices, b: Choices): number =>
    frequent(needs, a) - frequent(needs, b) || order(costOf(a), costOf(b));
  for (;;) {
    const others = alternativesOf(needs, chosen).flatMap(({ options }) =>
      options.flatMap(({ choices, refused }) => (refused === undefined ? [choices] : [])),
    );
    const [best] = others.toSorted(better);
    if (!best || better(best, chosen) >= 0) break;
    chosen = best;
  }
  const { design, cost } = costed(needs, chosen);
  const decisions = alternativesOf(needs, chosen).map(({ decision, options }): Decision => ({
    decision,
    options: options
      .map(({ option, choices, refused }): Option => {
        const often = frequent(needs, choices) > frequent(needs, chosen) ? OFTEN : undefined;
        const why = refused ?? often;
        return {
          option,
          cost: costOf(choices),
          chosen: same(choices, chosen),
          ...(why !== undefined && { refused: why }),
        };
      })
      .toSorted((a, b) => order(a.cost, b.cost)),
  }));
  const why = new Map(
    needs.entities.flatMap(({ name }) => {
      const both = [true, false].map((on) => costOf({ ...chosen, embedded: toggled(chosen.embedded, name, on) }));
      const [inside, apart] = both;
      return inside && apart && mayEmbed(needs, name)
        ? [
            [
              name,
              `on average ${ru(inside)} RU/s embedded, ${ru(apart)} RU/s separate, all containers together`,
            ] as const,
          ]
        : [];
    }),
  );
  return {
    requirements: requirementsText(needs, chosen, why),
    design,
    cost,
    decisions: [...decisions, ...expiries(needs, cost)],
    considered: costs.size,
  };
}

const ru = ({ average }: Cost): string => n(average);
const same = (a: Choices, b: Choices): boolean => JSON.stringify(a) === JSON.stringify(b);
const OFTEN = `asks all partitions ${DEFAULTS.frequent} times a second or more`;

/** How many patterns ask all partitions so often that the check has a finding (B10, G12). */
const frequent = (needs: Needs, { keys, ways, embedded }: Choices): number =>
  needs.accesses.filter(
    (access) =>
      ['list', 'total', 'read'].includes(access.kind) &&
      !embedded.includes(access.entity) &&
      ways[access.id] === 'base' &&
      !reaches(access, keys[access.entity] ?? 'id') &&
      access.peak >= DEFAULTS.frequent,
  ).length;

/** A TTL deletes with RU that are left over; an application pays each delete, as often as it creates. */
function expiries({ entities, accesses }: Needs, cost: Cost): Decision[] {
  return entities.flatMap(({ name, keptSeconds, bytes }): Decision[] => {
    if (keptSeconds === undefined) return [];
    const created = sum(
      accesses.filter(({ kind, entity }) => kind === 'create' && entity === name).map(({ average }) => average),
    );
    const more = created * chargeOf('delete', { bytes, partitions: 1, indexed: 3 }, DEFAULTS, PROFILES.microsoft);
    const paid = {
      peak: cost.peak + more,
      average: cost.average + more,
      hours: cost.hours + (more / 100) * HOURS_PER_MONTH,
    };
    return [
      {
        decision: `expiry of ${containerOf({ name })} after ${n(keptSeconds / 86_400)} d`,
        options: [
          { option: 'TTL', chosen: true, cost },
          { option: 'deletes by the application', chosen: false, cost: paid },
        ],
      },
    ];
  });
}

/** What is billed decides; among designs that are billed alike, the load. */
const order = (a: Cost, b: Cost): number => a.hours - b.hours || a.average - b.average || a.peak - b.peak;

function costed(needs: Needs, choices: Choices): { design: string; cost: Cost } {
  const requirements = parseRequirements(requirementsText(needs, choices), 'cosmosdb_requirements.md');
  const read = (text: string): Design =>
    parseDesign(
      text,
      'cosmosdb_data_model.md',
      requirements.patterns.map(({ id }) => id),
    );
  const loads = costsOf({ requirements, design: read(designText(needs, choices)) }, 'microsoft').containers;
  const design = designText(needs, choices, new Map(loads.map(({ name, peak }) => [name, peak])));
  const { containers } = costsOf({ requirements, design: read(design) }, 'microsoft');
  return {
    design,
    cost: {
      peak: sum(containers.map(({ peak }) => peak)),
      average: sum(containers.map(({ average }) => average)),
      hours: sum(containers.map(({ hours }) => hours?.expected ?? 0)),
    },
  };
}

function start(needs: Needs): Choices {
  return {
    keys: Object.fromEntries(needs.entities.map(({ name }) => [name, 'id'])),
    ways: Object.fromEntries(needs.accesses.map(({ id }) => [id, 'base' as const])),
    embedded: [],
    allPaths: [],
  };
}

const toggled = (of: readonly string[], name: string, on: boolean): string[] =>
  on ? [...new Set([...of, name])].toSorted() : of.filter((one) => one !== name);

/** With another key; lists that the key answers in one partition need no copy. */
const withKey = (needs: Needs, now: Choices, name: string, key: string): Choices => ({
  ...now,
  keys: { ...now.keys, [name]: key },
  ways: Object.fromEntries(
    needs.accesses.map((access) => {
      const answered =
        key !== now.keys[name] && access.entity === name && access.kind === 'list' && reaches(access, key);
      return [access.id, answered ? 'base' : (now.ways[access.id] ?? 'base')];
    }),
  ),
});

/** Every decision with all of its options, the present one among them. */
function alternativesOf(needs: Needs, now: Choices): { decision: string; options: Alternative[] }[] {
  const entities = needs.entities.flatMap((entity) => {
    const { name } = entity;
    const reads = needs.accesses.filter(
      (access) => access.entity === name && ['read', 'list', 'total'].includes(access.kind),
    );
    const parent = parentOf(needs, entity);
    const held = now.embedded.includes(name);
    const keys = [...new Set(['id', ...reads.flatMap(({ by }) => by)])];
    const embeddable = parent && !now.embedded.includes(parent.name) && mayEmbed(needs, name);
    return [
      ...(held || keys.length < 2
        ? []
        : [
            {
              decision: `key of ${containerOf(entity)}`,
              options: keys.map((key) => ({ option: `/${key}`, choices: withKey(needs, now, name, key) })),
            },
          ]),
      ...(embeddable
        ? [
            {
              decision: `${name} and ${parent.name}`,
              options: [false, true].map((on) => ({
                option: on ? `embedded in ${parent.name}` : 'separate documents',
                choices: on
                  ? { ...now, embedded: toggled(now.embedded, name, true) }
                  : held
                    ? withKey(
                        needs,
                        { ...now, embedded: toggled(now.embedded, name, false) },
                        name,
                        parentField(parent, entity),
                      )
                    : now,
              })),
            },
          ]
        : []),
      ...(held
        ? []
        : [
            {
              decision: `indexes of ${containerOf(entity)}`,
              options: [false, true].map((on) => ({
                option: on ? 'every path' : 'the paths that queries use',
                choices: { ...now, allPaths: toggled(now.allPaths, name, on) },
              })),
            },
          ]),
    ];
  });
  const ways = needs.accesses.flatMap((access) => {
    const held = now.embedded.includes(access.entity);
    const key = now.keys[access.entity] ?? 'id';
    const answered = access.kind === 'list' && reaches(access, key);
    if (held || !['list', 'total'].includes(access.kind) || (answered && now.ways[access.id] === 'base')) return [];
    const choose = (way: Way, option: string, refused?: string): Alternative => ({
      option,
      choices: { ...now, ways: { ...now.ways, [access.id]: way } },
      ...(refused !== undefined && { refused }),
    });
    const base = choose('base', reaches(access, key) ? 'query of one partition' : 'query of all partitions');
    return [
      {
        decision: `pattern ${access.id}: ${access.kind} ${access.entity} by ${access.by.join(', ')}`,
        options:
          access.kind === 'total'
            ? [base, choose('aggregate', 'aggregate')]
            : [base, choose('copy', 'copy with its own key'), choose('index', 'global secondary index', PREVIEW)],
      },
    ];
  });
  return [...entities, ...ways];
}

/** Every read of the child knows its parent, and the largest list fits into a document. */
function mayEmbed(needs: Needs, child: string): boolean {
  const entity = needs.entities.find(({ name }) => name === child);
  const parent = entity && parentOf(needs, entity);
  if (!entity || !parent || needs.entities.some((one) => parentOf(needs, one) === entity)) return false;
  const field = parentField(parent, entity);
  const relations = relationsOf(needs.requirements, { type: parent.name }, { type: child });
  const most = relations.find(({ max }) => max !== undefined)?.max;
  const known = averageOf(relations) !== undefined && most !== undefined && parent.bytes + most * entity.bytes <= MOST;
  const own = needs.accesses.filter((access) => access.entity === child);
  return (
    known && own.every(({ kind, by }) => kind !== 'total' && (!['read', 'list'].includes(kind) || by.includes(field)))
  );
}
