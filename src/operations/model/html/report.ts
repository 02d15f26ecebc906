// The report as one self-contained file: patterns, containers, RU/s, cost, findings.
import { type Costs, costsOf } from '../../../model/cost.ts';
import type { Documents } from '../../../model/documents.ts';
import type { RuleSettings } from '../../../model/estimate.ts';
import { type Facts, type Term, sum } from '../../../model/rules/facts.ts';
import { factsOf } from '../../../model/rules/index.ts';
import { type Rule, type Severity, n } from '../../../model/rules/rule.ts';
import { marksOf } from '../about.ts';
import { type Checked, GROUPS, type ShownFinding, excerpt } from '../check-text.ts';
import { graphOf } from '../draw/graph.ts';
import { svgOf } from '../draw/svg.ts';
import { bars, escaped, legend } from './charts.ts';
import { STYLE, colour } from './style.ts';

/** `rules`: those that were checked. The report has the text of each that found something, because it may be read anywhere. */
export function htmlReport(
  documents: Documents,
  checked: Checked,
  settings: Partial<RuleSettings>,
  rules: readonly Rule[],
): string {
  const facts = factsOf(documents, { settings });
  const profiles = (['microsoft', 'seed'] as const).map((profile) => costsOf(documents, profile, { settings }));
  const title = documents.design?.title || documents.requirements?.title || checked.folder;
  const [costs] = profiles;
  const parts = [
    head(title, checked, facts, costs),
    drawing(documents, checked),
    findings(checked),
    ...(facts.containers.length > 0 && costs
      ? [load(costs), byPattern(costs, facts), monthly(profiles, settings.price), projections(costs)]
      : []),
    patterns(facts),
    containers(facts),
    rest(checked),
    found(checked, rules),
  ];
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="generator" content="Millrace"><title>${escaped(title)}</title><style>${STYLE}</style></head>
<body><main>${parts.join('\n')}</main></body></html>
`;
}

const tile = (value: string, name: string): string =>
  `<div class="tile"><b>${escaped(value)}</b><span>${escaped(name)}</span></div>`;

function head(
  title: string,
  { folder, profile, counts, rules, waived }: Checked,
  facts: Facts,
  costs: Costs | undefined,
): string {
  const peak = sum((costs?.containers ?? []).map((container) => container.peak));
  const max = sum((costs?.containers ?? []).map(({ provisioned }) => provisioned?.max ?? 0));
  return `<header><h1>${escaped(title)}</h1><p class="dim">${escaped(folder)} · ${rules} rules · RU by the profile ${profile}</p>
<div class="tiles">${tile(n(counts.error), counts.error === 1 ? 'error' : 'errors')}${tile(n(counts.warning), counts.warning === 1 ? 'warning' : 'warnings')}${tile(n(waived.length), 'waived')}${tile(n(facts.patterns.length), 'access patterns')}${tile(n(facts.containers.length), 'containers')}${tile(n(facts.rows.length), 'projections')}${tile(n(peak), `RU/s at the peak of ${n(max)}`)}</div></header>`;
}

function findings({ findings: list }: Checked): string {
  if (list.length === 0)
    return '<section><h2>Findings</h2><div class="card"><span class="tag ok">none</span> No rule has a finding.</div></section>';
  const groups = SEVERITIES.map(([severity, title]) => {
    // A finding keeps its number in the list, which the drawing's links use.
    const own = [...list.entries()].filter(([, finding]) => finding.severity === severity);
    if (own.length === 0) return '';
    const many = own.length > MOST_OPEN;
    return `<details class="card group"${severity === 'information' || many ? '' : ' open'}><summary><h3>${title} <span class="tag ${severity}">${own.length}</span></h3></summary>${own.map(([at, finding]) => one(finding, at)).join('')}</details>`;
  });
  return `<section><h2>Findings</h2>${groups.join('')}</section>`;
}

const SEVERITIES = [
  ['error', 'Errors'],
  ['warning', 'Warnings'],
  ['information', 'For information'],
] as const satisfies readonly (readonly [Severity, string])[];
/** More of one severity are folded as a whole. */
const MOST_OPEN = 40;

function one({ rule, severity, message, words, at, evidence, hint, source }: ShownFinding, index: number): string {
  return `<details class="f" id="finding-${index + 1}"><summary><span class="tag ${severity}">${rule}</span>${escaped(message)} <span class="dim small">${escaped(at.file)}:${at.line}</span></summary>${source?.trim() ? caret(source, { message, words }, at.line, severity) : ''}${evidence === undefined ? '' : `<p class="small">Because ${escaped(evidence)}</p>`}${hint === undefined ? '' : `<p class="small dim">${escaped(hint)}</p>`}<p class="small"><a href="#rule-${rule}">What ${rule} says</a></p></details>`;
}

/** The line, and below it what the message means of it, as the text output marks it. */
function caret(
  source: string,
  { message, words }: { readonly message: string; readonly words: string | undefined },
  line: number,
  severity: Severity,
): string {
  const { text, from, length } = excerpt(source, message, words);
  const number = String(line);
  return `<pre tabindex="0">${number} │ ${escaped(text)}\n${' '.repeat(number.length)} │ ${' '.repeat(from)}<b class="caret ${severity}">${'^'.repeat(length)}</b></pre>`;
}

/** The rules that found something, so that a link leads to what each says. */
function found({ findings: list }: Checked, rules: readonly Rule[]): string {
  const ids = new Set(list.map(({ rule }) => rule));
  const cards = rules
    .filter(({ id }) => ids.has(id))
    .map(
      ({ id, title, severity, source, why, hint }) =>
        `<div class="card" id="rule-${id}"><h3><span class="tag ${severity}">${id}</span>${escaped(title)}</h3><p class="small">${escaped(why)}</p><p class="small"><b>How to fix it.</b> ${escaped(hint)}</p><p class="small dim">${escaped(GROUPS[id.charAt(0)] ?? '')} · ${escaped(source)}</p></div>`,
    );
  return cards.length === 0 ? '' : `<section><h2>Rules with findings</h2>${cards.join('')}</section>`;
}

function drawing({ design }: Documents, { findings: list }: Checked): string {
  if (!design || design.containers.length === 0) return '';
  return `<section><h2>Containers and projections</h2><div class="card" tabindex="0">${svgOf(graphOf(design), false, marksOf(list))}</div></section>`;
}

const KINDS = [
  { kind: 'pattern', name: 'access patterns', colour: colour(0) },
  { kind: 'projection', name: 'projections', colour: colour(1) },
  { kind: 'feed', name: 'change feed', colour: colour(2) },
] as const;

function load({ containers: list }: Costs): string {
  const chart = bars(
    list.map(({ name, terms, peak, provisioned }) => ({
      name,
      segments: KINDS.flatMap(({ kind, colour: fill }) =>
        terms
          .filter((term) => term.kind === kind)
          .map((term) => ({ what: term.what, value: term.perSecond * term.ru, colour: fill })),
      ),
      ...(provisioned && { room: provisioned.max, over: peak > provisioned.max }),
      label: provisioned
        ? `${n(peak)} of ${n(provisioned.max)} (${Math.round((100 * peak) / provisioned.max)} %)`
        : n(peak),
    })),
    'RU/s',
    'RU/s by container',
  );
  return `<section><h2>RU/s by container, at the peak</h2><div class="card" tabindex="0">${chart}${legend([...KINDS, { name: 'maximum', colour: 'var(--track)' }])}</div></section>`;
}

const MOST = 16;

/** The cost of each pattern in the container that serves it, and of each projection. */
function byPattern({ containers: list }: Costs, facts: Facts): string {
  const named = list.flatMap(({ name }, index) => [{ name, colour: colour(index) }]);
  const all = list.flatMap(({ name, terms }, index) =>
    terms.filter(({ kind }) => kind !== 'feed').map((term) => ({ term, container: name, colour: colour(index) })),
  );
  const sorted = all.toSorted((a, b) => cost(b.term) - cost(a.term)).slice(0, MOST);
  if (sorted.length === 0) return '';
  const label = (term: Term): string => {
    const pattern = term.kind === 'pattern' ? facts.pattern(term.ids[0] ?? '') : undefined;
    return pattern ? `${pattern.printed} ${pattern.description.replace(/\s*\((source|来源).*$/i, '')}` : term.what;
  };
  const chart = bars(
    sorted.map(({ term, container, colour: fill }) => ({
      name: label(term),
      segments: [{ what: `${term.what} on ${container}`, value: cost(term), colour: fill }],
      label: `${n(cost(term))} = ${n(term.perSecond)}/s × ${n(term.ru)} RU`,
    })),
    'RU/s',
    'RU/s by pattern',
  );
  const used = new Set(sorted.map(({ container }) => container));
  const left = all.length - sorted.length;
  return `<section><h2>RU/s by pattern and projection, at the peak</h2><div class="card" tabindex="0">${chart}${legend(named.filter(({ name }) => used.has(name)))}${left > 0 ? `<p class="small dim" style="margin:10px 0 0">and ${left} more, each below ${n(cost(sorted.at(-1)?.term))} RU/s</p>` : ''}</div></section>`;
}

const cost = (term: Term | undefined): number => (term ? term.perSecond * term.ru : 0);

function monthly(profiles: readonly Costs[], price: number | undefined): string {
  const [first] = profiles;
  const rows = (first?.containers ?? []).flatMap(({ name }) =>
    profiles.flatMap((costs, index) => {
      const hours = costs.containers.find((container) => container.name === name)?.hours;
      if (!hours) return [];
      const value = hours.expected * (price ?? 1);
      return [
        {
          name: index === 0 ? name : '',
          segments: [{ what: `${name}, profile ${costs.profile}`, value, colour: colour(index) }],
          room: hours.most * (price ?? 1),
          label: `${n(value)}, at most ${n(hours.most * (price ?? 1))}`,
        },
      ];
    }),
  );
  if (rows.length === 0) return '';
  const unit = price === undefined ? '× 100 RU/s for an hour' : '';
  const totals = profiles
    .map(
      ({ profile, containers: all }) =>
        `${profile} ${n(sum(all.map(({ hours }) => (hours?.expected ?? 0) * (price ?? 1))))}`,
    )
    .join(', ');
  return `<section><h2>Cost of a month, by profile</h2><p class="dim small">${price === undefined ? 'In units of 100 RU/s for an hour; <code>--price</code> gives money.' : `At ${price} for 100 RU/s and an hour.`} Expected for the average load, but at least for a tenth of the autoscale maximum. Together: ${totals}.</p><div class="card" tabindex="0">${bars(rows, unit, 'Cost of a month by profile')}${legend(profiles.map(({ profile }) => ({ name: profile })))}</div></section>`;
}

function projections({ projections: list }: Costs): string {
  if (list.length === 0) return '';
  const rows = list.map(
    ({ name, changes, ru, perSecond, instead, breakEven }) =>
      `<tr><td>${escaped(name)}</td><td class="num">${n(changes)}</td><td class="num">${n(ru)}</td><td class="num">${n(perSecond)}</td><td class="num">${instead === undefined ? '–' : n(instead)}</td><td class="num">${breakEven === undefined ? '–' : n(breakEven)}</td></tr>`,
  );
  return `<section><h2>What projections cost and save</h2><div class="card" tabindex="0"><table><thead><tr><th>projection</th><th class="num">changes/s</th><th class="num">RU a change</th><th class="num">RU/s to keep fresh</th><th class="num">RU/s it saves</th><th class="num">costs more from changes/s</th></tr></thead><tbody>${rows.join('')}</tbody></table></div></section>`;
}

function patterns(facts: Facts): string {
  if (facts.patterns.length === 0) return '';
  const rows = facts.patterns.map((pattern) => {
    const own = facts.accesses.filter((access) => access.pattern === pattern);
    const where = [...new Set(own.map(({ detail }) => detail.container.name))].join(', ');
    const ru = own[0]?.ru;
    const operation = own[0]?.row.operations[0]?.replace('-', ' ') ?? '';
    return `<tr><td>${escaped(pattern.printed)}</td><td>${escaped(pattern.description.replace(/\s*\((source|来源).*$/i, ''))}</td><td class="num">${pattern.rate?.peak === undefined ? '–' : n(pattern.rate.peak)}</td><td class="num">${pattern.rate?.average === undefined ? '–' : n(pattern.rate.average)}</td><td>${escaped(where)}</td><td>${operation}</td><td class="num">${ru === undefined ? '–' : n(ru)}</td><td class="num">${ru === undefined || pattern.rate?.peak === undefined ? '–' : n(ru * pattern.rate.peak)}</td></tr>`;
  });
  return `<section><h2>Access patterns</h2><div class="card" tabindex="0"><table><thead><tr><th>#</th><th>pattern</th><th class="num">peak/s</th><th class="num">average/s</th><th>container</th><th>operation</th><th class="num">RU</th><th class="num">RU/s</th></tr></thead><tbody>${rows.join('')}</tbody></table></div></section>`;
}

function containers(facts: Facts): string {
  if (facts.containers.length === 0) return '';
  const cards = facts.containers.map((detail) => {
    const { container, cardinality, size, derived } = detail;
    const { reference } = container;
    const entries: [string, string][] = [
      ['key', `${container.partitionKey.join(', ')}${cardinality === undefined ? '' : `, ${n(cardinality)} values`}`],
      ['types', container.types.map(({ name }) => name).join(', ')],
      ['document', `${n(size.average / 1000)} KB, ${n(size.max / 1000)} KB at most${size.stated ? '' : ' (examples)'}`],
      [
        'throughput',
        container.throughput ? `${container.throughput.kind}, ${n(container.throughput.max)} RU/s` : 'not stated',
      ],
      [
        'TTL',
        container.defaultTtl === undefined
          ? 'off'
          : container.defaultTtl === -1
            ? 'on, by item'
            : `${n(container.defaultTtl)} s`,
      ],
      ['index', container.indexingPolicy?.excludedPaths?.some(({ path }) => path === '/*') ? 'selective' : 'automatic'],
      ['patterns', detail.serves?.ids.join(', ') ?? ''],
    ];
    const kind = derived
      ? ' <span class="tag information">derived</span>'
      : reference
        ? ' <span class="tag information">reference</span>'
        : '';
    return `<div class="card"><h3>${escaped(container.name)}${kind}</h3><dl>${entries.map(([name, value]) => `<dt>${name}</dt><dd>${escaped(value)}</dd>`).join('')}</dl></div>`;
  });
  return `<section><h2>Containers</h2><div class="grid">${cards.join('')}</div></section>`;
}

function rest({ waived, notChecked, reading }: Checked): string {
  const list = (title: string, lines: readonly string[]): string =>
    lines.length === 0
      ? ''
      : `<section><h2>${title}</h2><div class="card small">${lines.map((line) => `<p>${line}</p>`).join('')}</div></section>`;
  const folded = (title: string, what: string, lines: readonly string[]): string =>
    lines.length === 0
      ? ''
      : `<section><h2>${title}</h2><details class="card small"><summary>${lines.length} ${what}</summary>${lines.map((line) => `<p>${line}</p>`).join('')}</details></section>`;
  return [
    list(
      'Waived',
      waived.map(
        ({ finding, until, reason }) =>
          `<b>${finding.rule}</b> ${escaped(finding.message)} <span class="dim">until ${until}: ${escaped(reason)}</span>`,
      ),
    ),
    list(
      'Reading',
      reading.map(({ message, at }) => `${escaped(at.file)}:${at.line} ${escaped(message)}`),
    ),
    folded(
      'Not checked, because this is missing',
      'facts that rules look for',
      [...Map.groupBy(notChecked, ({ missing }) => missing)].map(
        ([what, entries]) => `${escaped(what)}: ${[...new Set(entries.map(({ rule }) => rule))].join(' ')}`,
      ),
    ),
  ].join('');
}
