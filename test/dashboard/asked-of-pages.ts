// What tests of the pages ask of a page.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { onTestFinished, vi } from 'vitest';
import { LOADED } from './browsed.ts';

/** What pages ask for by themselves, and by *Trace*. */
export const VERBS = [
  'archive/list',
  'audit',
  'dead-letters/list',
  'jobs/list',
  'leases/list',
  'model/check',
  'model/cost',
  'projections/list',
  'projections/show',
  'shards/list',
  'status',
  'tenants/list',
  'trace',
];
/** Characters of an id that would run a script where an id became markup. */
export const EVIL = '<img src=x onerror=document.title=1>';

/** By evaluation from outside: the page's policy refuses the `eval` of Playwright's own waiting. */
export const until = (page: Page, condition: string): Promise<unknown> =>
  vi.waitUntil(() => page.evaluate(condition), { timeout: 120_000, interval: 50 });

export const loaded = (page: Page): Promise<unknown> => until(page, LOADED);

/** Puts what looks like markup behind each text of an answer, but not behind times, which pages calculate with. */
export function marked(value: unknown): unknown {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\d/.test(value) ? value : `${value}${EVIL}`;
  if (Array.isArray(value)) return value.map(marked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, marked(of)]));
}

export const ARCHIVED = { archives: [{ id: 'orders-cold@1', from: 'Orders/order' }] };

/** The page asks for a status, in which this is otherwise than on the stage, which has tenants and no archive. */
export async function withStatus(
  page: Page,
  more: object,
  changed = (answer: unknown): unknown => answer,
): Promise<void> {
  await page.route('**/api/session', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...((await response.json()) as object), pollMs: 500 } });
  });
  await page.route('**/api/run/status', async (route) => {
    const response = await route.fetch();
    const answer = (await response.json()) as { result: object };
    await route.fulfill({ response, json: changed({ ...answer, result: { ...answer.result, ...more } }) });
  });
  await page.reload();
}

/** The code of the dead letters on the page. */
export async function firstCode(page: Page): Promise<string> {
  await page.locator('tbody a').first().waitFor();
  return (await page.locator('tbody a').first().textContent()) ?? '';
}

const STOREFRONT = join(import.meta.dirname, '../../examples/storefront');
/** The storefront's documents, of which one plans a tenth of the throughput that it needs. */
export function modelWithFindings(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-model-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const design = 'cosmosdb_data_model.md';
  for (const name of [design, 'cosmosdb_requirements.md'])
    writeFileSync(
      join(folder, name),
      readFileSync(join(STOREFRONT, name), 'utf8').replace('autoscale max 10,000 RU/s', 'autoscale max 1,000 RU/s'),
    );
  return folder;
}
