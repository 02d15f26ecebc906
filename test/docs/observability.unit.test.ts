// What docs/observability.md and infra/observability/ say of metrics, spans and alerts is what the code and the runbook have.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { METRICS } from '../../src/base/telemetry/metrics.ts';
import { prometheusName } from '../support/prometheus.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8');
const PAGE = read('docs/observability.md');
const RUNBOOK = read('docs/runbook.md');
const RULES = read('infra/observability/prometheus-rules.yml');
const DASHBOARD = read('infra/observability/grafana-dashboard.json');
const WORKBOOK = read('infra/observability/azure-workbook.json');
const ALERTS = read('infra/modules/alerts.bicep');

const KINDS = {
  counter: 'counter',
  observedCounter: 'counter',
  upDownCounter: 'sum',
  histogram: 'histogram',
  gauge: 'gauge',
} as const;
const IN_PROMETHEUS = new Set(
  Object.entries(METRICS).flatMap(([name, { kind }]) => {
    const plain = prometheusName(name);
    if (kind === 'histogram') return [`${plain}_bucket`, `${plain}_sum`, `${plain}_count`];
    return [kind === 'counter' || kind === 'observedCounter' ? `${plain}_total` : plain];
  }),
);
/** As renderers of Markdown make an anchor of a heading. */
const ANCHORS = new Set(
  [...RUNBOOK.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  ),
);
const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

it('the page has each metric with its kind, unit, attributes and meaning', () => {
  const rows = PAGE.split('\n').filter((line) =>
    /^\| `millrace\.[\w.]+` \| (?:counter|sum|histogram|gauge) /.test(line),
  );
  expect(rows).toEqual(
    Object.entries(METRICS).map(([name, { kind, unit, attributes, description }]) => {
      const cells = [
        `\`${name}\``,
        KINDS[kind],
        unit.replace(/[{}]/g, ''),
        attributes.map((of) => `\`${of}\``).join(', '),
      ];
      return `| ${[...cells, description].join(' | ')} |`;
    }),
  );
});

it('every page names a metric as it is', () => {
  const groups = new Set(Object.keys(METRICS).map((name) => name.split('.', 2).join('.')));
  const named = globSync('docs/*.md', { cwd: ROOT })
    .flatMap((page) => all(read(page), /`(millrace\.[a-z_]+\.[a-z_.]*[a-z])`/g))
    .filter((name) => groups.has(name.split('.', 2).join('.')));
  expect(named.length).toBeGreaterThan(45);
  // Spans have attributes in the same groups, such as `millrace.job.id`.
  const spans = all(PAGE, /^\| `(?:millrace\.\w+|send HUB)` \|(.*)$/gm).join(' ');
  expect(named.filter((name) => !(name in METRICS) && !spans.includes(`\`${name}\``))).toEqual([]);
});

describe('what is read in Prometheus', () => {
  it.each([
    ['rules', RULES],
    ['the dashboard', DASHBOARD],
  ])('%s name only metrics that there are', (_name, text) => {
    const named = all(text, /\b(millrace_\w+)/g);
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !IN_PROMETHEUS.has(name))).toEqual([]);
  });

  it.each([
    ['rules', RULES],
    ['the dashboard', DASHBOARD],
  ])('%s name only labels that there are', (_name, text) => {
    const known = new Set<string>(['job', 'instance', 'le']);
    for (const { attributes } of Object.values(METRICS)) for (const of of attributes) known.add(prometheusName(of));
    const named = all(text, /\bby \(([^)]*)\)/g).flatMap((list) => list.split(', '));
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((label) => !known.has(label))).toEqual([]);
  });
});

it('the workbook names only metrics and attributes that there are', () => {
  const named = all(WORKBOOK, /Name == '(millrace\.[\w.]+)'/g);
  expect(named.length).toBeGreaterThan(8);
  const spans = all(PAGE, /^\| `(millrace\.\w+)` \| (?:consumer|internal)/gm);
  expect(named.filter((name) => !(name in METRICS) && !spans.includes(name))).toEqual([]);
  const known = new Set<string>(Object.values(METRICS).flatMap(({ attributes }) => attributes));
  const attributes = all(WORKBOOK, /Properties\['([\w.]+)'\]/g);
  expect(attributes.filter((name) => !known.has(name) && !PAGE.includes(`\`${name}\``))).toEqual([]);
});

describe('each alert has its heading in the runbook', () => {
  it('the twelve rules for Prometheus', () => {
    const alerts = all(RULES, /- alert: (\w+)/g);
    const headings = all(RULES, /runbook_url: '\{\{ \$externalLabels\.runbooks \}\}docs\/runbook\.md#([\w-]+)'/g);
    expect([alerts.length, new Set(alerts).size, headings.length, new Set(headings).size]).toEqual([12, 12, 12, 12]);
    expect(headings.filter((heading) => !ANCHORS.has(heading))).toEqual([]);
    for (const alert of alerts) expect(PAGE).toContain(`\`${alert}\``);
  });

  it('those of infra/', () => {
    const headings = [...all(ALERTS, /runbook: '([^']+)'/g), ...all(ALERTS, /Runbook: \$\{runbook\}#([\w-]+)/g)];
    expect(headings).toHaveLength(11);
    expect(headings.filter((heading) => !ANCHORS.has(heading))).toEqual([]);
  });
});
