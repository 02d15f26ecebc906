import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { metrics } from '@opentelemetry/api';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { afterEach, expect, it, vi } from 'vitest';
import { METRICS } from '../../../src/base/telemetry/metrics.ts';
import { prometheusName } from '../../support/prometheus.ts';
import { cli } from '../../cli/cli.ts';
import { type Served, served } from '../../support/served.ts';
import { useStage } from '../../support/each-stage.ts';
import { SHOP, type Stage } from '../../support/stage.ts';

const WAIT = { timeout: 60_000, interval: 50 };

let stage: Stage;
useStage({}, (opened) => {
  stage = opened;
});
afterEach(() => metrics.disable());

const run = (): Promise<Served> =>
  served(/Probes: (http:\S+\/)readyz/, ['run', '--host', 'here', '--probes', '0', '--pipeline', SHOP]);

it('a host says that it lives, that it is ready once the feeds are read, how much there is to do, and its metrics', async () => {
  const order = { id: 'o1', type: 'order', storeId: 's1', customerId: 'c1', placedAt: '2026-01-01T10:00:00.000Z' };
  await stage.container('Orders').items.upsert({ ...order, cents: 1 });
  const { url, stop } = await run();
  const ask = (path: string) => fetch(new URL(path, url));
  expect((await ask('livez')).status).toBe(200);
  await vi.waitFor(async () => expect((await ask('readyz')).status).toBe(200), WAIT);
  const { ranges, withWork } = (await (await ask('scale')).json()) as { ranges: number; withWork: number };
  expect(ranges).toBeGreaterThan(1);
  expect(withWork).toBeLessThanOrEqual(ranges);
  await vi.waitFor(async () => {
    const text = await (await ask('metrics')).text();
    expect(text).toMatch(/^millrace_changes_handled_total\{.*\} [1-9]/m);
    expect(text).toMatch(/^millrace_dead_letters\{projection="summaries@1".*\} 0/m);
  }, WAIT);
  // The list of metrics has each that a host reports, and each of its labels.
  const names = Object.entries(METRICS).map(([name, { attributes }]) => [prometheusName(name), attributes] as const);
  const samples = [...(await (await ask('metrics')).text()).matchAll(/^(millrace_\w+)\{(.*)\} /gm)];
  for (const [, name = '', labels = ''] of samples) {
    const [, attributes] = names.find(([of]) => of === name.replace(/_(?:total|bucket|sum|count)$/, '')) ?? [];
    expect([name, attributes !== undefined]).toEqual([name, true]);
    const own = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    const known = new Set(['le', 'otel_scope_name', ...(attributes ?? []).map(prometheusName)]);
    expect(own.filter((label) => !known.has(label))).toEqual([]);
  }
  expect((await ask('orders')).status).toBe(404);
  expect((await fetch(new URL('scale', url), { method: 'POST' })).status).toBe(405);
  expect(await stop()).toBe(130);
  await expect(ask('livez')).rejects.toThrow('fetch failed');
});

it('a host leaves the metrics to a provider that is registered already', async () => {
  metrics.setGlobalMeterProvider(new MeterProvider());
  const { url, stop } = await run();
  const answer = await fetch(new URL('metrics', url));
  expect([answer.status, await answer.json()]).toEqual([503, { error: expect.stringContaining('another provider') }]);
  await stop();
});

it('a port in use is named before anything starts', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const { code, stderr } = await cli(['run', '--probes', String(port), '--pipeline', SHOP]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(`127.0.0.1:${port}`) });
  await new Promise((resolve) => other.close(resolve));
});
