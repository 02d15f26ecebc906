// J40 and J41: throughput that the service doesn't take, and sums over what the account may have.
import { type Annotation, type Annotations } from '../annotations/annotations.ts';
import { linesOf } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { type Throughput, isOneAccount, mostOf, throughputs } from '../annotations/throughput.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, hinted, missing, n, together } from './rule.ts';

type Place = Annotation<'throughput'>;

const LEAST = 400;
const LEAST_AUTOSCALE = 1000;
const FREE = 1000;
const nameOf = ({ name, of, environment }: Place): string =>
  name ?? (environment === undefined ? `${of === 'account' ? 'the' : 'each'} ${of}` : `${of} of ${environment}`);

/** Manual throughput below 400 RU/s, or autoscale below 1,000. */
function* tooLittle(places: readonly Place[]): Iterable<Found> {
  const manual = places.filter(({ mode, ru = LEAST }) => (mode === 'manual' || mode === undefined) && ru < LEAST);
  const scaled = places.filter(({ mode, ru = LEAST_AUTOSCALE }) => mode === 'autoscale' && ru < LEAST_AUTOSCALE);
  const said = (all: readonly Place[]): string =>
    listed(all.map((one) => `${nameOf(one)} ${n(one.ru ?? 0)} RU/s (line ${one.at.line})`));
  const parts = [
    ...(manual.length > 0
      ? [`${said(manual)}: manual throughput begins at 400 RU/s, for a container of its own and for a database`]
      : []),
    ...(scaled.length > 0 ? [`${said(scaled)}: the maximum of autoscale begins at 1,000 RU/s`] : []),
  ];
  yield* hinted(
    together(
      [...manual, ...scaled],
      `${parts.join('; ')}. The service refuses less, so the plan costs more than it says`,
    ),
    manual.length > 1
      ? 'Give the database 400 RU/s or more, which its containers share, or each container at least 400 RU/s.'
      : 'State at least the minimum, and count the costs by it.',
    'error',
  );
}

/** Throughput beside the word serverless, and settings that a serverless account lacks. */
function* serverless(annotations: Annotations, all: readonly Place[]): Iterable<Found> {
  const own = all.filter(({ mode }) => mode === 'serverless');
  const figures = own.filter(({ ru }) => ru !== undefined);
  yield* hinted(
    together(
      figures,
      `${listed(figures.map((one) => `${nameOf(one)} ${n(one.ru ?? 0)} RU/s`))} (${linesOf(figures)}) ${figures.length === 1 ? 'is' : 'are'} called serverless. A serverless container has no throughput that is set: each request is paid for, and the limit of RU/s is that of the service. So the figures bound neither cost nor load`,
      own.filter(({ ru }) => ru === undefined).map(({ at }) => at),
    ),
    'Leave the RU/s out and count the costs by the RU of all requests; or choose manual throughput or autoscale.',
  );
  // Another mode in the text is for another time, size or environment.
  const isOnly =
    own.length > 0 && all.every(({ mode, environment }) => mode === 'serverless' && environment === undefined);
  const lacks = isOnly
    ? annotations
        .of('setting')
        .filter(
          ({ setting, value, environment, existing }) =>
            environment === undefined &&
            existing !== true &&
            ((setting === 'multi-region writes' &&
              (value === true || /^(?:true|on|yes|enabled)$/i.test(String(value)))) ||
              (setting === 'regions' && (Number(value) > 1 || /[\w)]\s*(?:,|\+|\band\b)\s*\w/i.test(String(value))))),
        )
    : [];
  yield* hinted(
    together(
      lacks,
      `The account is serverless (${linesOf(own)}), and ${listed(lacks.map(({ setting, value, at }) => `${setting} ${String(value)} (line ${at.line})`))} ${lacks.length === 1 ? 'is' : 'are'} planned. A serverless account has one region`,
      own.map(({ at }) => at),
    ),
    'Choose provisioned throughput, or stay in one region.',
    'error',
  );
}

/** A base and a maximum that autoscale can't have: it falls to a tenth of its maximum. */
function* noRange(places: readonly Place[]): Iterable<Found> {
  const all = places.filter(
    ({ mode, ru, lowest }) =>
      (mode === 'autoscale' || mode === undefined) &&
      ru !== undefined &&
      // A maximum that is refused has been told.
      !(mode === 'autoscale' && ru < LEAST_AUTOSCALE) &&
      lowest !== undefined &&
      Math.abs(lowest - ru / 10) > 0.02 * ru,
  );
  const texts = all.map(
    (one) =>
      `${nameOf(one)} ${n(one.lowest ?? 0)} to ${n(one.ru ?? 0)} RU/s (is ${n((one.ru ?? 0) / 10)} to ${n(one.ru ?? 0)})`,
  );
  yield* hinted(
    together(
      all,
      `${listed(texts)}: that is no setting. Autoscale has one figure, its maximum, and scales between a tenth of it and the maximum; a fixed base is manual throughput, which doesn’t scale. So the base, and the costs that are counted from it, can’t be had`,
    ),
    `Choose for ${listed(all.map(nameOf))} between manual throughput and the maximum of autoscale, and count the costs from a tenth of that.`,
  );
}

interface Differing {
  readonly said: string;
  readonly places: readonly Place[];
}

/** One database or container with different modes or figures. */
function differing({ name, places }: Throughput): Differing[] {
  const sides = (of: (place: Place) => string | undefined): (readonly Place[])[] =>
    [
      ...Map.groupBy(
        places.filter((one) => of(one) !== undefined),
        of,
      ).values(),
    ].toSorted((a, b) => b.length - a.length);
  const told = (all: (readonly Place[])[], text: (place: Place) => string): string =>
    listed(all.map((side) => `${side[0] ? text(side[0]) : ''} (${linesOf(side)})`));
  const modes = sides(({ mode }) => mode);
  // A maximum and a fixed figure are different by nature.
  const figures = (modes.length > 1 ? [] : [sides(({ ru }) => (ru === undefined ? undefined : String(ru)))]).filter(
    (all) => all.length > 1,
  );
  const lowest = sides((one) => (one.lowest === undefined ? undefined : String(one.lowest)));
  const parts = [
    ...(modes.length > 1
      ? [told(modes, ({ mode, ru }) => `${mode ?? ''}${ru === undefined ? '' : ` ${n(ru)} RU/s`}`)]
      : []),
    ...figures.map((all) =>
      told(all, ({ mode, ru }) => `${mode === 'autoscale' ? 'a maximum of ' : ''}${n(ru ?? 0)} RU/s`),
    ),
    ...(lowest.length > 1 ? [told(lowest, (one) => `a base of ${n(one.lowest ?? 0)} RU/s`)] : []),
  ];
  const at = [...(modes.length > 1 ? modes : []), ...figures.flat(), ...(lowest.length > 1 ? lowest : [])];
  return parts.length === 0 ? [] : [{ said: `${name} has ${parts.join(', and ')}`, places: at.toReversed().flat() }];
}

const UNDECIDED =
  /\bserverless\b\s*(?:or|\/|vs\.?)\s*(?:provisioned|autoscale|manual)\b|\b(?:provisioned|autoscale)\b\s*(?:or|\/|vs\.?)\s*serverless\b/i;

/** RU/s are planned in one place, and another leaves open whether there are any. */
function* undecided(annotations: Annotations, places: readonly Place[]): Iterable<Found> {
  const open = annotations.lines.flatMap((text, index) =>
    UNDECIDED.test(text) && !/\b(?:chose|chosen|decided|prefer\w*|compar\w*)\b/i.test(text)
      ? [{ at: { file: annotations.file, line: index + 1 } }]
      : [],
  );
  const stated = places.filter(({ ru, environment }) => ru !== undefined && environment === undefined);
  if (open.length === 0 || stated.length === 0) return;
  yield* hinted(
    together(
      [...open, ...stated.slice(0, 3)],
      `The capacity mode is left open, serverless or provisioned (${linesOf(open)}), and ${listed(stated.slice(0, 3).map((one) => `${nameOf(one)} ${n(one.ru ?? 0)} RU/s`))} are planned (${linesOf(stated.slice(0, 3))}). A serverless account has no RU/s to set, one region, and other prices, so the figures and the costs hold for one of the two`,
    ),
    'Decide for one capacity mode, and give figures and costs for it alone.',
  );
}

function* differences(annotations: Annotations): Iterable<Found> {
  const all = throughputs(annotations).flatMap(differing);
  yield* hinted(
    together(
      all.flatMap(({ places }) => places),
      `${all.map(({ said }) => said).join('; ')}. Costs and capacity that are planned by the one aren’t those of the other, and whoever deploys takes either`,
    ),
    'Decide for one figure and mode of each, and write it in the plan, the costs and the templates.',
  );
}

interface Summed {
  readonly text: string;
  readonly ru: number;
  readonly places: readonly Place[];
}

/** What all databases, or all containers with throughput of their own, may take together: the larger of the two. */
function summed(annotations: Annotations): readonly Summed[] {
  const all = throughputs(annotations).flatMap((one): (Summed & { of: Place['of'] })[] => {
    const most = mostOf(one);
    if (most === undefined) return [];
    const scaled = one.places.some(({ mode }) => mode === 'autoscale');
    const ru = Math.max(most, scaled ? LEAST_AUTOSCALE : LEAST);
    return [{ of: one.of, text: `${one.name} ${n(ru)}${scaled ? ' (maximum)' : ''}`, ru, places: one.places }];
  });
  const sum = (some: readonly Summed[]): number => some.reduce((total, { ru }) => total + ru, 0);
  const [databases, containers] = (['database', 'container'] as const).map((of) => all.filter((one) => one.of === of));
  return sum(databases ?? []) >= sum(containers ?? []) ? (databases ?? []) : (containers ?? []);
}

function* overLimit(annotations: Annotations): Iterable<Found> {
  if (!isOneAccount(annotations)) return;
  const parts = summed(annotations);
  const total = parts.reduce((all, { ru }) => all + ru, 0);
  const limits = annotations
    .of('throughput')
    .filter(({ of, mode, ru }) => of === 'account' && mode === 'limit' && ru !== undefined);
  const limit = Math.min(...limits.map(({ ru = Number.POSITIVE_INFINITY }) => ru));
  const places = parts.flatMap((one) => one.places.filter(({ ru }) => ru !== undefined).slice(0, 2));
  const text = `${listed(parts.map((one) => one.text))} RU/s are ${n(total)} RU/s together`;
  if (parts.length > 1 && total > limit)
    yield* hinted(
      together(
        [...limits, ...places],
        `${text}, and the account may have ${n(limit)} (${linesOf(limits)}). The limit counts what is provisioned, of autoscale the maximum, so the service refuses what goes over it`,
      ),
      'Raise or remove the limit of the account, give the environments accounts of their own, or let one database share its throughput.',
      'error',
    );
  const free = annotations
    .of('setting')
    .filter(({ setting, value }) => setting === 'free tier' && value !== false && value !== 'false');
  const fits = annotations.lines.flatMap((line, index) =>
    /\bfree[- ]tier\b/i.test(line) &&
    (/\b1,?000 ?RU/i.test(line) || /\b(?:within|fits?|inside|under|stays?)\b/i.test(line))
      ? [{ at: { file: annotations.file, line: index + 1 } }]
      : [],
  );
  if (parts.length > 1 && total > FREE && limit >= total && free.length > 0 && fits.length > 0)
    yield* hinted(
      together(
        [...fits.slice(0, 1), ...places],
        `${text}, with at least 400 RU/s for each, and the free tier has 1,000 RU/s. What goes over it is billed, although the text counts on the free tier (${linesOf(fits)})`,
      ),
      'Let the containers share 1,000 RU/s or less of one database.',
    );
}

const LIMITS = SOURCES.microsoft('Azure Cosmos DB service quotas');

export const THROUGHPUTS: readonly Rule[] = [
  {
    id: 'J40',
    title: 'Throughput that is stated can be set, and is stated once',
    severity: 'warning',
    source: LIMITS,
    why: 'Manual throughput begins at 400 RU/s for a container or a database, and the maximum of autoscale at 1,000 (ASM-E98). Autoscale scales between a tenth of its maximum and the maximum; a base beside a maximum is no setting (ASM-E160). A serverless account has no throughput that is set, and one region (ASM-E98, ASM-E110). A plan with other figures can’t be deployed as it was counted. The rule also compares all places that state mode and figures of one database or container.',
    hint: 'Choose manual throughput or autoscale, with figures that the service takes.',
    instead: ['B22'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      const all = annotations.of('throughput').filter(({ existing }) => existing !== true);
      if (all.length === 0) yield missing('throughput in an annotation');
      const places = all.filter(({ of, mode }) => of !== 'account' && mode !== 'limit' && mode !== 'serverless');
      yield* tooLittle([
        ...places,
        // "Start with 400 RU/s autoscale" is of what the account has, be it a database or a container.
        ...all.filter(({ of, mode }) => of === 'account' && mode === 'autoscale'),
      ]);
      yield* serverless(annotations, all);
      yield* noRange(places);
      yield* differences(annotations);
      yield* undecided(annotations, places);
    },
  },
  {
    id: 'J41',
    title: 'Databases and containers together fit the account',
    severity: 'warning',
    source: SOURCES.microsoft('Limit total throughput provisioned on your account'),
    why: 'A limit on the account’s throughput counts what is provisioned everywhere in it, of autoscale the maximum, and the service refuses what would go over it (ASM-E161). The free tier gives 1,000 RU/s of an account; more is billed (ASM-E111). The rule adds the smallest figures that the document states, and at least the minimum of each.',
    hint: 'Lower the figures, share throughput in a database, or raise the limit.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('throughput').length === 0) yield missing('throughput in an annotation');
      yield* overLimit(annotations);
    },
  },
];
