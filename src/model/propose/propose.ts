// Looks for the design with the lowest cost a month. Every considered design is written as a document, read, and costed as
// `model cost` does. Beginning with containers by id, it takes the single change that saves most, until none saves anything.
import { costsOf } from '../cost.ts';
import { FREQUENT, HOURS_PER_MONTH, chargeOf } from '../estimate.ts';
import { n } from '../rules/rule.ts';
import type { Design } from '../documents.ts';
import { parseDesign } from '../reader/design.ts';
import { parseRequirements } from '../reader/requirements.ts';
import { averageOf, relationsOf } from '../relations.ts';
import { sum } from '../rules/facts.ts';
import {
  MOST,
  type Choices,
  type Way,
  proposedContainerOf,
  proposedGroupOf,
  homeOf,
  hostOf,
  proposedKeyOf,
  levelsOf,
  membersOf,
  overlapOf,
  parentField,
  parentOf,
  reachOf,
  reachOfRead,
  proposedSourceOf,
  valuesOfKey,
} from './design.ts';
import { overflowOf } from './limits.ts';
import type { Entity, Needs } from './needs.ts';
import { type ProposedCompared, requirementsText } from './analysis.ts';
import { designText } from './write.ts';

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

export interface ProposedDecision {
  readonly decision: string;
  readonly options: readonly Option[];
}

export interface Proposal {
  readonly requirements: string;
  readonly design: string;
  readonly cost: Cost;
  readonly decisions: readonly ProposedDecision[];
  /** How many designs were costed. */
  readonly considered: number;
}

const NOT_CREATED = 'without joins, and with autoscale only; Millrace doesn’t create it';

interface Alternative {
  readonly option: string;
  readonly choices: Choices;
  readonly refused?: string;
}

export function propose(needs: Needs): Proposal {
  const costs = new Map<string, Costed>();
  const costedOf = (choices: Choices): Costed => {
    const known = textOf(choices);
    const cost = costs.get(known) ?? costed(needs, choices);
    costs.set(known, cost);
    return cost;
  };
  const costOf = (choices: Choices): Cost => costedOf(choices).cost;
  const overflows = (choices: Choices): boolean => costedOf(choices).refused !== undefined;
  let chosen = start(needs);
  const better = (a: Choices, b: Choices): number =>
    frequent(needs, a) - frequent(needs, b) || order(costOf(a), costOf(b)) || wide(needs, a) - wide(needs, b);
  for (;;) {
    const others = alternativesOf(needs, chosen, overflows).flatMap(({ options }) =>
      options.flatMap(({ choices, refused }) => (refused === undefined ? [choices] : [])),
    );
    const [best] = others.filter((one) => !overflows(one)).toSorted(better);
    if (!best || better(best, chosen) >= 0) break;
    chosen = best;
  }
  const { design, cost } = costedOf(chosen);
  const decisions = alternativesOf(needs, chosen, overflows).map(({ decision, options }): ProposedDecision => ({
    decision,
    options: options
      .map(({ option, choices, refused }): Option => {
        const often = frequent(needs, choices) > frequent(needs, chosen) ? OFTEN : undefined;
        const why = refused ?? costedOf(choices).refused ?? often;
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
    decisions.flatMap(({ decision, options }): [string, ProposedCompared][] => {
      const child = needs.entities.find(({ name }) => decision.startsWith(`place of ${name}`));
      const parent = child && parentOf(needs, child);
      if (!child || !parent) return [];
      const told = options.map(({ option, cost: { average }, refused = '' }) =>
        [`${n(average)} RU/s ${option}`, refused].filter((part) => part !== '').join(', but '),
      );
      const isBeside = options.some(({ option }) => option.startsWith(`beside ${parent.name} `));
      return [[child.name, { told: `on average, all containers together: ${told.join('; ')}`, beside: isBeside }]];
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

const same = (a: Choices, b: Choices): boolean => textOf(a) === textOf(b);
/** Equal for equal choices: homes are added in any order. */
const textOf = ({ homes, ...others }: Choices): string =>
  JSON.stringify([others, Object.entries(homes).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
const OFTEN = `asks all partitions ${FREQUENT} times a second or more`;

/** Reads a second that don't ask one partition. */
const wide = (needs: Needs, choices: Choices): number =>
  sum(needs.accesses.filter((access) => reachOfRead(needs, choices, access) !== 'one').map(({ average }) => average));

/** How many patterns ask all partitions so often that the check has a finding (B10, G12). */
const frequent = (needs: Needs, choices: Choices): number =>
  needs.accesses.filter(
    (access) =>
      ['list', 'total', 'read'].includes(access.kind) &&
      choices.ways[access.id] === 'base' &&
      reachOfRead(needs, choices, access) === 'all' &&
      access.peak >= FREQUENT,
  ).length;

/** A TTL deletes with RU that are left over; an application pays each delete, as often as it creates. */
function expiries({ entities, accesses }: Needs, cost: Cost): ProposedDecision[] {
  return entities.flatMap(({ name, keptSeconds, bytes }): ProposedDecision[] => {
    if (keptSeconds === undefined) return [];
    const created = sum(
      accesses.filter(({ kind, entity }) => kind === 'create' && entity === name).map(({ average }) => average),
    );
    const more = created * chargeOf('delete', { bytes, partitions: 1, indexed: 3 });
    const paid = {
      peak: cost.peak + more,
      average: cost.average + more,
      hours: cost.hours + (more / 100) * HOURS_PER_MONTH,
    };
    return [
      {
        decision: `expiry of ${proposedContainerOf({ name })} after ${n(keptSeconds / 86_400)} d`,
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

interface Costed {
  readonly design: string;
  readonly cost: Cost;
  /** A logical partition that the service doesn't hold, or serve. */
  readonly refused?: string;
}

function costed(needs: Needs, choices: Choices): Costed {
  const requirements = parseRequirements(requirementsText(needs, choices), 'cosmosdb_requirements.md');
  const read = (text: string): Design =>
    parseDesign(
      text,
      'cosmosdb_data_model.md',
      requirements.patterns.map(({ id }) => id),
    );
  const loads = costsOf({ requirements, design: read(designText(needs, choices)) }).containers;
  const design = designText(needs, choices, new Map(loads.map(({ name, peak }) => [name, peak])));
  const { containers } = costsOf({ requirements, design: read(design) });
  const refused = overflowOf(needs, choices, new Map(containers.map(({ name, peak }) => [name, peak])));
  return {
    design,
    cost: {
      peak: sum(containers.map(({ peak }) => peak)),
      average: sum(containers.map(({ average }) => average)),
      hours: sum(containers.map(({ hours }) => hours?.expected ?? 0)),
    },
    ...(refused !== undefined && { refused }),
  };
}

function start(needs: Needs): Choices {
  return {
    keys: Object.fromEntries(needs.entities.map(({ name }) => [name, 'id'])),
    ways: Object.fromEntries(needs.accesses.map(({ id }) => [id, 'base' as const])),
    homes: {},
    embedded: [],
    allPaths: [],
  };
}

const toggled = (of: readonly string[], name: string, on: boolean): string[] =>
  on ? [...new Set([...of, name])].toSorted() : of.filter((one) => one !== name);

/** With another key; lists that the key answers in one partition need no copy. */
const withKey = (needs: Needs, now: Choices, name: string, key: string): Choices => {
  const next = { ...now, keys: { ...now.keys, [name]: key } };
  const members = membersOf(needs, next, name);
  return {
    ...next,
    ways: Object.fromEntries(
      needs.accesses.map((access) => {
        const entity = members.find((one) => one.name === access.entity);
        const answered = entity && access.kind === 'list' && reachOf(entity, access.by, key) !== 'all';
        return [access.id, answered ? 'base' : (now.ways[access.id] ?? 'base')];
      }),
    ),
  };
};

interface OpenDecision {
  readonly decision: string;
  readonly options: Alternative[];
}

/** Every decision with all of its options, the present one among them. */
function alternativesOf(needs: Needs, now: Choices, overflows: (choices: Choices) => boolean): OpenDecision[] {
  const entities = needs.entities.flatMap((entity) => {
    const { name } = entity;
    const held = now.embedded.includes(name);
    const own = !held && homeOf(now, name) === name;
    const keys = keysOf(needs, now, entity, overflows);
    const places = placesOf(needs, now, entity);
    return [
      ...(own && keys.length > 1
        ? [
            {
              decision: `key of ${proposedContainerOf(entity)}`,
              options: keys.map((key) => {
                const few = fewValues(needs, now, entity, key);
                return {
                  option: `/${levelsOf(key).join(', /')}`,
                  choices: withKey(needs, now, name, key),
                  ...(few !== undefined && { refused: few }),
                };
              }),
            },
          ]
        : []),
      ...(places.length > 1 ? [{ decision: `place of ${name}`, options: places }] : []),
      ...(own
        ? [
            {
              decision: `indexes of ${proposedContainerOf(entity)}`,
              options: [false, true].map((on) => ({
                option: on ? 'every path' : 'the paths that queries use',
                choices: { ...now, allPaths: toggled(now.allPaths, name, on) },
              })),
            },
          ]
        : []),
    ];
  });
  const ways = needs.accesses.flatMap((access): OpenDecision[] => {
    const entity = needs.entities.find(({ name }) => name === access.entity);
    if (!entity || now.embedded.includes(entity.name) || !['list', 'total'].includes(access.kind)) return [];
    const reach = reachOf(entity, access.by, proposedKeyOf(now, entity.name));
    if (access.kind === 'list' && reach !== 'all' && now.ways[access.id] === 'base') return [];
    const choose = (way: Way, option: string, refused?: string): Alternative => ({
      option,
      choices: { ...now, ways: { ...now.ways, [access.id]: way } },
      ...(refused !== undefined && { refused }),
    });
    const asked = { one: 'one partition', prefix: 'the partitions of a prefix', all: 'all partitions' }[reach];
    const base = choose('base', `query of ${asked}`);
    const group = proposedGroupOf(access, 'copy');
    const host = hostOf(needs, now, entity, group);
    const hosted = host ? [choose('beside', `copy in ${proposedContainerOf(host)}, by ${group.join(', ')}`)] : [];
    return [
      {
        decision: `pattern ${access.id}: ${access.kind} ${access.entity} by ${access.by.join(', ')}`,
        options:
          access.kind === 'total'
            ? [base, choose('aggregate', 'aggregate')]
            : [
                base,
                choose('copy', 'copy with its own key'),
                ...hosted,
                choose('index', 'global secondary index', NOT_CREATED),
              ],
      },
    ];
  });
  return [...entities, ...ways];
}

/**
 * The keys that requests know, of all documents in the container. A level is added where those before it overflow a
 * logical partition, up to three, which the service allows.
 */
function keysOf(needs: Needs, now: Choices, entity: Entity, overflows: (choices: Choices) => boolean): string[] {
  const members = membersOf(needs, now, entity.name);
  const reads = needs.accesses.filter(({ kind }) => ['read', 'list', 'total'].includes(kind));
  const known = members.flatMap((member) =>
    reads.filter((access) => access.entity === member.name).flatMap(({ by }) => by),
  );
  const fields = [...new Set(members.length === 1 ? ['id', ...known] : known)];
  const isOf = (key: string): boolean =>
    levelsOf(key).every((level) => members.every((member) => proposedSourceOf(member, level) !== undefined));
  const tooLarge = (key: string): boolean =>
    !levelsOf(key).includes('id') && isOf(key) && overflows(withKey(needs, now, entity.name, key));
  const longer = (keys: readonly string[]): string[] =>
    keys.flatMap((key) => fields.filter((field) => !levelsOf(key).includes(field)).map((field) => `${key}/${field}`));
  const skewed = fields.filter(tooLarge);
  const two = longer(skewed);
  const three = longer(two.filter(tooLarge));
  return [...new Set([...fields, ...two, ...three, proposedKeyOf(now, entity.name)])].filter(isOf);
}

/** A key with fewer values isn't spread (C2), unless the container has no more documents either. */
function fewValues(needs: Needs, now: Choices, entity: Entity, key: string): string | undefined {
  const members = membersOf(needs, now, entity.name);
  const values = Math.max(...members.map((member) => valuesOfKey(needs, member, key)));
  const most = Math.max(...members.map(({ count }) => count));
  return values < LEAST_VALUES && values < most
    ? `${n(values)} values, and a key needs at least ${LEAST_VALUES} to spread the load`
    : undefined;
}

const LEAST_VALUES = 100;

/** Where the documents of an entity may be: in a container of their own, in their parent's document, beside others. */
function placesOf(needs: Needs, now: Choices, entity: Entity): Alternative[] {
  const { name } = entity;
  const parent = parentOf(needs, entity);
  const held = now.embedded.includes(name);
  const home = homeOf(now, name);
  if (needs.entities.some((one) => one !== entity && homeOf(now, one.name) === name)) return [];
  const { [name]: _, ...homes } = now.homes;
  const free = { ...now, homes, embedded: toggled(now.embedded, name, false) };
  const alone =
    held && parent
      ? withKey(needs, free, name, parentField(parent, entity))
      : home === name
        ? now
        : withKey(needs, free, name, proposedKeyOf(now, name));
  const few = parent && overlapOf(needs, parent, entity).both < LEAST ? FEW : undefined;
  const inside: Alternative[] =
    parent && !now.embedded.includes(parent.name) && mayEmbed(needs, name)
      ? [
          {
            option: `embedded in ${parent.name}`,
            choices: { ...now, homes, embedded: toggled(now.embedded, name, true) },
            ...(few !== undefined && { refused: few }),
          },
        ]
      : [];
  const others = needs.entities.flatMap((other): Alternative[] => {
    if (other === entity || now.embedded.includes(other.name) || homeOf(now, other.name) !== other.name) return [];
    if (other.keptSeconds !== entity.keptSeconds) return [];
    const members = [...membersOf(needs, free, other.name), entity];
    const keys = [proposedKeyOf(now, other.name), ...(parent === other ? [parentField(other, entity)] : [])];
    const common = [...new Set(keys)].filter(
      (key) =>
        key !== 'id' &&
        levelsOf(key).every((level) => members.every((member) => proposedSourceOf(member, level) !== undefined)),
    );
    const related = parent === other ? few : undefined;
    return common.map((key) => ({
      option: `beside ${other.name} in one container, by ${key}`,
      choices: withKey(needs, { ...free, homes: { ...homes, [name]: other.name } }, other.name, key),
      ...(related !== undefined && { refused: related }),
    }));
  });
  return [{ option: 'a container of its own', choices: alone }, ...inside, ...others];
}

/** Percent of the reads that must need both, or the check has a finding (D2). */
const LEAST = 30;
const FEW = `less than ${LEAST} % of the reads need both`;

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
