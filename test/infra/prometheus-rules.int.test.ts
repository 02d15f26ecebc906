// The rules of infra/observability/ as Prometheus reads them: by its own promtool, over what a real host serves. Skipped
// where it isn't installed (`go install github.com/prometheus/prometheus/cmd/promtool@latest`, or its path in PROMTOOL).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metrics } from '@opentelemetry/api';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { served } from '../support/served.ts';
import { SHOP, type Stage, openStage } from '../support/stage.ts';

const PROMTOOL = process.env['PROMTOOL'] ?? 'promtool';
const THERE = spawnSync(PROMTOOL, ['--version']).status === 0;
if (!THERE) console.log('rules of Prometheus: skipped, promtool is not installed');
const RULES = join(import.meta.dirname, '../../infra/observability/prometheus-rules.yml');
const folder = mkdtempSync(join(tmpdir(), 'millrace-rules-'));
afterAll(() => rmSync(folder, { recursive: true }));

const promtool = (args: readonly string[], input?: string) => {
  const { status, stdout, stderr } = spawnSync(PROMTOOL, args, {
    encoding: 'utf8',
    ...(input !== undefined && { input }),
  });
  return { status, said: stdout + stderr };
};

/** Two hours of samples, one a minute. */
const HOLDS = 'x120';
const OWNED = `millrace_leases_owned{job="j",container="Orders"}`;
const always = (series: string, value: number, step = 0) => ({ series, values: `${value}+${step}${HOLDS}` });
const lease = (name: string, value: number) =>
  always(`millrace_lease_${name}{job="j",container="Orders",lease="0"}`, value);

/** By alert: samples that must make it fire. A host is there but for the first. */
const BAD: Readonly<Record<string, readonly { readonly series: string; readonly values: string }[]>> = {
  MillraceNoHost: [always(OWNED, 0)],
  MillraceProblem: [always('millrace_problems{job="j",part="leases",code="lease-container-missing"}', 1)],
  MillraceJobsFailed: [always('millrace_jobs{job="j",state="failed"}', 1)],
  MillraceFeedBehind: [lease('lag_age', 700)],
  MillraceFallingBehind: [lease('lag_age', 130), lease('in', 20), lease('out', 10)],
  MillracePageStuck: [lease('page_deliveries', 5)],
  MillraceThrottled: [always('millrace_projection_throttled_total{job="j",projection="days@1"}', 0, 120)],
  MillraceDeadLetters: [always('millrace_dead_letters{job="j",projection="days@1"}', 2)],
  MillraceDeadLettersOld: [always('millrace_dead_letters_age{job="j",projection="days@1"}', 90_000)],
  MillraceTenantWaits: [always('millrace_deferred_age{job="j",tenant="t",container="Orders"}', 4_000)],
  MillraceDifferences: [always('millrace_verification_differences{job="j",kind="sample"}', 1)],
  MillraceVerificationOld: [always('millrace_verification_age{job="j",kind="whole"}', 700_000)],
};

/** Runs promtool's own tests: at the end of two hours these alerts fire, by their names, and no others. */
function firing(series: readonly { readonly series: string; readonly values: string }[], fires: readonly string[]) {
  const file = join(folder, 'rules.test.yml');
  const checks = Object.keys(BAD).map((alertname) => ({
    eval_time: '2h',
    expr: `count(ALERTS{alertname="${alertname}",alertstate="firing"})`,
    exp_samples: fires.includes(alertname) ? [{ labels: '{}', value: 1 }] : [],
  }));
  const test = { interval: '1m', input_series: series, promql_expr_test: checks };
  // JSON is YAML too.
  writeFileSync(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: '1m', tests: [test] }));
  return promtool(['test', 'rules', file]);
}

describe.skipIf(!THERE)('by promtool', () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await openStage();
    for (const [name, value] of Object.entries(stage.env)) vi.stubEnv(name, value);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    metrics.disable();
    await stage[Symbol.asyncDispose]();
  });

  it('the rules are valid', () => {
    expect(promtool(['check', 'rules', RULES])).toEqual({ status: 0, said: expect.stringContaining('12 rules found') });
  });

  it.each(Object.entries(BAD))('%s fires, and no other', (name, bad) => {
    const host = name === 'MillraceNoHost' ? [] : [always(OWNED, 1)];
    expect(firing([...host, ...bad], [name])).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') });
  });

  it('no host at all fires', () => {
    expect(firing([], ['MillraceNoHost'])).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') });
  });

  it('a healthy host serves what Prometheus reads, and fires nothing', async () => {
    const order = { id: 'o1', type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00.000Z' };
    await stage.container('Orders').items.create({ ...order, cents: 1 });
    const { url, stop } = await served(/Probes: (http:\S+\/)readyz/, ['run', '--probes', '0', '--pipeline', SHOP]);
    const text = await vi.waitFor(
      async () => {
        const scrape = await (await fetch(new URL('metrics', url))).text();
        expect(scrape).toMatch(/^millrace_projection_changes_total\{projection="days@1".*\} [1-9]/m);
        expect(scrape).toMatch(/^millrace_lease_lag_age\{/m);
        return scrape;
      },
      { timeout: 60_000, interval: 100 },
    );
    await stop();
    const { said } = promtool(['check', 'metrics'], text);
    // It would have units in names, which OpenTelemetry's exporter leaves out, and reports nothing else.
    expect(said).not.toMatch(/error|duplicate|invalid/i);
    const series = [...text.matchAll(/^(millrace_[^{\s]+)\{(.*)\} (\S+)(?: \d+)?$/gm)].map(([, name, labels, value]) =>
      always(`${name}{job="j",${labels}}`, Number(value)),
    );
    expect(series.length).toBeGreaterThan(20);
    expect(firing(series, [])).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') });
  });
});
