// The six pictures of docs/dashboard.md: `millrace dev` with an example, in which some documents are made wrong.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CosmosClient } from '@azure/cosmos';
import { type Page, chromium } from 'playwright-core';
import { LOADED } from '../test/dashboard/browsed.ts';
import { CHROMIUM } from '../test/dashboard/chromium.ts';
import { until } from './package/dashboard.ts';

const ROOT = join(import.meta.dirname, '..');
const FOLDER = join(ROOT, 'docs/images');
const MOST_BYTES = 100_000;
const WITHIN_MS = 900_000;
/** Of history, so that the charts have a line. */
const MINUTES = 3;

if (CHROMIUM === undefined) throw new Error('There is no Chromium here: apt-get install chromium');
mkdirSync(FOLDER, { recursive: true });
const dev = spawn('node', ['bin/millrace.mjs', 'dev', '--example', 'storefront', '--rate', '8'], { cwd: ROOT });
const ended = once(dev, 'exit');
let said = '';
for (const stream of [dev.stdout, dev.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
try {
  const told = await until(
    'its addresses',
    () => /^Dashboard: (\S+)[^]*^export COSMOS='([^']+)'/m.exec(said) ?? undefined,
    WITHIN_MS,
  );
  const [, address = '', account = ''] = told ?? [];
  await until('minutes of history', async () => (await minutesOf(address)) >= MINUTES || undefined, WITHIN_MS);
  await breakSome(account);
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  try {
    const page = await browser.newPage({ colorScheme: 'light', viewport: { width: 1280, height: 860 } });
    page.setDefaultTimeout(WITHIN_MS);
    await page.goto(`${address}#/now`);
    await page
      .getByRole('button', { name: /^Redrive/ })
      .first()
      .waitFor();
    // A rate is between two reports of the host.
    await page.locator('dd').first().filter({ hasText: /\d/ }).waitFor();
    await picture(page, 'now');
    await page
      .getByRole('button', { name: /^Redrive/ })
      .first()
      .click();
    await page.getByRole('dialog').getByRole('listitem').first().waitFor();
    await picture(page, 'dry-run');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await page.goto(`${address}#/projections`);
    await picture(page, 'projections');
    await page.goto(`${address}#/dead-letters`);
    await page.locator('.letter summary').first().click();
    await page.locator('.letter pre.json').waitFor();
    await picture(page, 'dead-letters');
    await page.goto(`${address}#/feeds`);
    await picture(page, 'feeds');
    await page.goto(`${address}#/trace`);
    await page.getByRole('link', { name: 'Orders/order-broken-1' }).first().click();
    await page.getByRole('heading', { name: 'The document' }).waitFor();
    await picture(page, 'trace');
  } finally {
    await browser.close();
  }
} finally {
  dev.kill('SIGINT');
  await ended;
}

async function minutesOf(address: string): Promise<number> {
  const answer = await fetch(new URL('/api/run/status', address), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-millrace': 'screenshots' },
    body: '{}',
  });
  const { result } = (await answer.json()) as { result?: { hosts: { status?: { history: unknown[] } }[] } };
  return result?.hosts[0]?.status?.history.length ?? 0;
}

/** Orders whose time is no text. */
async function breakSome(account: string): Promise<void> {
  const orders = new CosmosClient(account).database('storefront').container('Orders');
  const order = {
    type: 'order',
    storeId: 'store-1',
    customerId: 'customer-1',
    status: 'placed',
    lines: [],
    totalCents: 100,
  };
  for (const n of [1, 2, 3]) await orders.items.upsert({ ...order, id: `order-broken-${n}`, placedAt: 7 });
}

async function picture(page: Page, name: string): Promise<void> {
  await until(`${name} to load`, async () => (await page.evaluate(LOADED)) === true || undefined, WITHIN_MS);
  const devtools = await page.context().newCDPSession(page);
  const { data } = await devtools.send('Page.captureScreenshot', { format: 'webp', quality: 70 });
  const bytes = Buffer.from(data, 'base64');
  if (bytes.length > MOST_BYTES) throw new Error(`The picture of ${name} has ${bytes.length} bytes`);
  writeFileSync(join(FOLDER, `dashboard-${name}.webp`), bytes);
  process.stdout.write(`dashboard-${name}.webp, ${Math.round(bytes.length / 1_000)} KB\n`);
}
