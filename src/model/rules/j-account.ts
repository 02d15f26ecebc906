// J42 to J44: what holds for a whole account: its settings, its keys, and its prices.
import { type Annotation, type Annotations } from '../annotations/annotations.ts';
import { linesOf, saysText } from '../annotations/described.ts';
import { listed } from '../annotations/merged.ts';
import { isOneAccount } from '../annotations/throughput.ts';
import type { Place } from '../model.ts';
import { type Found, type Rule, type RuleResult, ANNOTATIONS, SOURCES, hinted, missing, n, together } from './rule.ts';

type Setting = Annotation<'setting'>;

/** Settings that an account has for all of its databases. */
const OF_ACCOUNT: ReadonlySet<Setting['setting']> = new Set([
  'consistency',
  'regions',
  'multi-region writes',
  'backup',
  'free tier',
  'local authentication',
  'network',
]);

const valueOf = ({ value }: Setting): string => (typeof value === 'boolean' ? (value ? 'on' : 'none') : String(value));
const whose = ({ name, environment, of }: Setting): string => name ?? environment ?? `the ${of}`;

function* settings(annotations: Annotations): Iterable<Found> {
  if (!isOneAccount(annotations)) return;
  const planned = annotations.planned.filter((one): one is Setting => one.kind === 'setting');
  const all = [...annotations.of('setting'), ...planned].filter(
    ({ setting, of, environment, existing }) =>
      OF_ACCOUNT.has(setting) && existing !== true && (of !== 'account' || environment !== undefined),
  );
  for (const [setting, places] of Map.groupBy(all, (one) => one.setting)) {
    const sides = [...Map.groupBy(places, (one) => valueOf(one).toLowerCase()).values()];
    const names = new Set(places.map(whose));
    if (sides.length < 2 || names.size < 2 || !places.some(({ of }) => of !== 'account')) continue;
    const texts = sides.map(
      (side) => `${listed(side.map(whose))} ${side[0] ? valueOf(side[0]) : ''} (${linesOf(side)})`,
    );
    yield* hinted(
      together(
        places,
        `${setting} differs: ${listed(texts)}. It is a setting of the account and holds for all of its databases: in one account either every environment gets and pays for the highest, or none gets what it is promised`,
      ),
      `State ${setting} once for the account, or give production an account of its own.`,
    );
  }
}

const ISOLATED =
  /\b(?:complete(?:ly)?|full(?:y)?|strict(?:ly)?|total(?:ly)?|true|strong(?:ly)?|perfect(?:ly)?)\s+(?:\w+ )?(?:isolat\w+|separat\w+|segregat\w+)\b|\b(?:environment|tenant|data|production)s? (?:are |is )?(?:isolation|isolated|separation)\b/i;
const NEGATED = /\b(?:no|not|never|without|lacks?|isn['’]t|instead of|rather than)\b/i;

function* oneKey(annotations: Annotations): Iterable<Found> {
  const keys = annotations.of('tenancy').filter(({ by }) => by === 'account-key');
  const claims = annotations.lines.flatMap((line, index): { at: Place }[] =>
    ISOLATED.test(line) && !NEGATED.test(line) ? [{ at: { file: annotations.file, line: index + 1 } }] : [],
  );
  const safer = annotations.of('tenancy').some(({ by }) => by === 'resource-token' || by === 'account');
  if (
    keys.length === 0 ||
    claims.length === 0 ||
    safer ||
    !isOneAccount(annotations) ||
    saysText(annotations, /\b(?:managed identity|DefaultAzureCredential|data[- ]plane RBAC)\b/i)
  )
    return;
  yield* hinted(
    together(
      [...keys, ...claims],
      `The data are called isolated (${linesOf(claims)}), and programs connect by the account’s key or a connection string with it (${linesOf(keys)}). This key opens every database and container of the account, for reading and writing: only the name that a program is configured with keeps one apart from another`,
    ),
    'Sign in by identity, with roles that are scoped to one database or container, and switch keys off; or give production an account of its own.',
  );
}

/** Of 100 RU/s for a month, manual, in one region; autoscale is half as much again. List prices differ by region. */
const MONTH = 5.84;
const TIMES = 1.5;

type Priced = Annotation<'throughput'> & { readonly monthly: number };
const figure = ({ mode, ru, lowest }: Priced): number | undefined =>
  mode === 'autoscale' ? (lowest ?? (ru === undefined ? undefined : ru / 10)) : ru;

function* prices(annotations: Annotations): Iterable<Found> {
  const all = annotations
    .of('throughput')
    .filter((one): one is Priced => one.monthly !== undefined && one.monthly > 0 && one.mode !== 'serverless');
  const named = ({ name, environment, of }: Priced): string => name ?? environment ?? `the ${of}`;
  const rates = all.flatMap((one) => {
    const ru = figure(one);
    return ru === undefined || ru < 100 ? [] : [{ one, at: one.at, ru, rate: one.monthly / (ru / 100) }];
  });
  const manual = rates.filter(({ one }) => one.mode === 'manual');
  const rate = manual.length > 0 ? Math.min(...manual.map((each) => each.rate)) : MONTH;
  const cheap = rates.filter((each) => each.one.mode === 'autoscale' && each.rate < 1.25 * rate);
  const parts: string[] = [];
  if (cheap.length > 0)
    parts.push(
      `${listed(cheap.map(({ one, ru }) => `${named(one)} at ${n(ru)} RU/s of autoscale for ${n(one.monthly)} a month`))}: autoscale costs 1.5 times the manual rate for what it scales to, so this is about ${listed(cheap.map(({ ru }) => n((ru / 100) * rate * TIMES)))}`,
    );
  const off = rates.filter((each) => each.one.mode === 'manual' && (each.rate > 2 * MONTH || each.rate < MONTH / 2));
  if (off.length > 0)
    parts.push(
      `${listed(off.map(({ one, ru }) => `${named(one)} at ${n(ru)} RU/s for ${n(one.monthly)} a month`))}: 100 RU/s cost about ${n(MONTH)} dollars a month in one region`,
    );
  const base = annotations.lines.flatMap((text, index) =>
    /[$€£]\s?\d/.test(text) &&
    /\bbase (?:cost|price|fee)s?\b[^|.]{0,30}\baccount|\baccounts?\b[^|.]{0,20}\bbase (?:cost|price|fee)|\b(?:per|each)[- ]account (?:base|minimum|fixed)/i.test(
      text,
    )
      ? [{ at: { file: annotations.file, line: index + 1 } }]
      : [],
  );
  if (base.length > 0)
    parts.push(`${linesOf(base)}: an account has no base cost; throughput, storage and backups are billed`);
  const free = annotations.of('setting').filter(({ setting, value }) => setting === 'free tier' && value === true);
  const counted = rates.filter(({ one }) => one.mode === 'manual' && one.existing !== true);
  if (free.length > 0 && counted.length > 0 && parts.length > 0)
    parts.push(`the free tier is on (${linesOf(free)}), so the first 1,000 RU/s aren’t billed at all`);
  yield* hinted(
    together(
      [...cheap, ...off, ...base],
      `${parts.join('; ')}. The costs, and the savings that are counted from them, are wrong`,
      free.map(({ at }) => at),
    ),
    'Count each month anew: RU/s × rate, 1.5 times for autoscale, less the free tier, and add storage and backups.',
  );
}

export const ACCOUNTS: readonly Rule[] = [
  {
    id: 'J42',
    title: 'Settings of the account aren’t said of one database',
    severity: 'warning',
    source: SOURCES.microsoft('Azure Cosmos DB resource model'),
    why: 'Backup, regions, the default consistency, the free tier, network rules and the sign-in by keys belong to the account (ASM-E162). A plan that puts several environments into one account can’t give each of them its own. The rule compares such settings of several databases where the text has one account.',
    hint: 'Use one setting for all, or several accounts.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('setting').length === 0) yield missing('a setting in an annotation');
      yield* settings(annotations);
    },
  },
  {
    id: 'J43',
    title: 'What is called isolated isn’t opened by one key',
    severity: 'warning',
    source: SOURCES.microsoft('Secure access to data in Azure Cosmos DB'),
    why: 'A primary key of the account, also in a connection string, gives access to all of its databases and containers (ASM-E163). Where environments or customers share the account, the separation is only the name that a program uses. The rule takes a claim of isolation in the text and an annotation that programs connect by the account’s key.',
    hint: 'Use identities with roles of a narrow scope, or several accounts.',
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('tenancy').length === 0) yield missing('tenancy in an annotation');
      yield* oneKey(annotations);
    },
  },
  {
    id: 'J44',
    title: 'Prices follow from the throughput that they stand beside',
    severity: 'warning',
    source: SOURCES.microsoft('Autoscale throughput in Azure Cosmos DB – FAQ'),
    why: 'Autoscale costs 1.5 times the manual rate for each RU/s that it scales to, at least a tenth of its maximum (ASM-E145). An account has no base price (ASM-E164), and the free tier covers the first 1,000 RU/s. The rule compares the price of a month with the figure of throughput beside it; it takes the document’s own manual rate where there is one, since prices differ by region.',
    hint: 'Count the price from the RU/s.',
    instead: ['B22'],
    needs: [ANNOTATIONS],
    *check({ annotations }): Iterable<RuleResult> {
      if (!annotations) return;
      if (annotations.of('throughput').every(({ monthly }) => monthly === undefined))
        yield missing('a price in an annotation');
      yield* prices(annotations);
    },
  },
];
