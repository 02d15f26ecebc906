// Every page and every action in a browser, over the embedded server.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type Page, chromium } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Dashboard } from '../../src/dashboard/server.ts';
import type { Workspace } from '../../src/runtime/workspace.ts';
import { type App, compose } from '../../src/runtime/hosts/processor-host.ts';
import { Rates } from '../../src/feed/processor/rates.ts';
import { startStatusWriter } from '../../src/host/run/status-writer.ts';
import { type Stage, openStage } from '../support/stage.ts';
import {
  ARCHIVED,
  EVIL,
  VERBS,
  firstCode,
  loaded,
  marked,
  modelWithFindings,
  until,
  withStatus,
} from './asked-of-pages.ts';
import { PAGES, beyond, violations } from './browsed.ts';
import { CHROMIUM } from './chromium.ts';
import { statusAt } from './played.ts';
import { post, serve, workspaceOf } from './served.ts';

const ORDER = { type: 'order', storeId: 's1', customerId: 'c1', cents: 100 };

let stage: Stage;
let app: App;
let endStatus: () => Promise<void>;
let dashboard: Dashboard;
let browser: Browser;
const wrong: string[] = [];

/** A page whose errors are collected. A refused request is shown by the page, so the browser's note of it is no error. */
async function open(path: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  onTestFinished(async () => {
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await context.close();
  });
  // Ends what hangs; a machine with much other work is slow.
  page.setDefaultTimeout(120_000);
  page.on('pageerror', ({ message }) => wrong.push(message));
  // It works offline: every request is for this machine.
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') wrong.push(`a request for ${request.url()}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) wrong.push(message.text());
  });
  await page.goto(`${dashboard.url}#/${path}`);
  return page;
}

/** How often a verb was recorded. */
async function timesOf(verb: string): Promise<number> {
  const { body } = await post(dashboard.url, '/api/run/audit', { input: { most: 100 } });
  return (body['result'] as { verb: string }[]).filter((one) => one.verb === verb).length;
}

async function park(ids: readonly string[]): Promise<void> {
  for (const id of ids) await stage.container('Orders').items.upsert({ ...ORDER, id, placedAt: 7 });
  await app.drained(AbortSignal.timeout(60_000));
}

describe.skipIf(CHROMIUM === undefined)('in Chromium', () => {
  beforeAll(async () => {
    stage = await openStage();
    app = await compose({ ...stage, host: 'test', readLagMs: 0, timings: { pollMs: 40 } });
    await app.start();
    endStatus = startStatusWriter({
      services: stage.services,
      host: 'test',
      pipeline: 'shop',
      app,
      rates: new Rates(),
      everyMs: 250,
    }).end;
    await park([EVIL, 'order-1', 'order-2']);
    dashboard = await serve(stage);
    browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
  });
  afterAll(async () => {
    await browser?.close();
    await dashboard?.[Symbol.asyncDispose]();
    await endStatus?.();
    await app?.stop();
    await stage?.[Symbol.asyncDispose]();
    if (wrong.length > 0) throw new Error(`The pages reported errors:\n${wrong.join('\n')}`);
  });

  it.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)('every page is accessible and no wider than the screen: %s, %i px', async (colorScheme, width) => {
    const page = await open('now', { colorScheme, viewport: { width, height: 740 } });
    for (const id of PAGES) {
      await page.goto(`${dashboard.url}#/${id}`);
      await loaded(page);
      expect({ id, found: await violations(page) }).toEqual({ id, found: [] });
      expect({ id, beyond: await beyond(page) }).toEqual({ id, beyond: 0 });
    }
  });

  it('the first sentence of Now says how much needs somebody, and each row leads to it', async () => {
    const page = await open('now');
    const verdict = page.locator('.verdict.bad');
    await verdict.waitFor();
    expect(await verdict.textContent()).toMatch(/^\d+ things? needs? you$/);
    const row = page.locator('tr', { hasText: /change(s)? parked/ }).first();
    await row.getByRole('button', { name: /^Redrive the dead letters of/ }).click();
    await page.getByRole('dialog').getByRole('listitem').first().waitFor();
    // A dialog is of its page.
    await page.goto(`${dashboard.url}#/feeds`);
    await page.locator('h1', { hasText: 'Feeds' }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.goBack();
    await row.locator('a').first().click();
    await page.locator('h1', { hasText: 'Dead letters' }).waitFor();
  });

  it('an id that looks like markup is shown as text, and runs nothing', async () => {
    const page = await open('dead-letters');
    const code = await firstCode(page);
    await page.goto(`${dashboard.url}#/dead-letters/${code}`);
    await page.locator('summary', { hasText: EVIL }).first().waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    expect(await page.title()).toContain('Dead letters');
    // The browser itself refuses to make markup of a text.
    const refused = await page.evaluate(
      '(() => { try { document.body.innerHTML = "<b>x</b>"; return "taken"; } catch (error) { return error.name; } })()',
    );
    expect(refused).toBe('TypeError');
    expect(wrong.splice(0)).toEqual([expect.stringContaining("requires 'TrustedHTML'")]);
  });

  it('markup in any text of any answer is shown as text, on every page', async () => {
    const page = await open('now');
    const asked = new Set<string>();
    await page.route('**/api/run/**', async (route) => {
      asked.add(new URL(route.request().url()).pathname.replace('/api/run/', ''));
      const response = await route.fetch();
      await route.fulfill({ response, json: marked(await response.json()) });
    });
    await withStatus(page, ARCHIVED, marked);
    const shown: string[] = [];
    const pages = [...PAGES, 'dead-letters/projection-threw'];
    for (const id of pages) {
      await page.goto(`${dashboard.url}#/${id}`);
      await loaded(page);
      const made = await page.locator('main :is(img, script, iframe, [onerror])').count();
      expect({ id, made }).toEqual({ id, made: 0 });
      expect(await page.title()).not.toBe('1');
      if ((await page.locator('main').textContent())?.includes(EVIL)) shown.push(id);
    }
    await page.goto(`${dashboard.url}#/data`);
    await page.getByRole('button', { name: 'Count documents' }).click();
    await loaded(page);
    expect(await page.locator('main :is(img, script, iframe, [onerror])').count()).toBe(0);
    await page.goto(`${dashboard.url}#/trace/Orders/s1/${encodeURIComponent(EVIL)}`);
    await page.getByLabel('Partition key').fill('s1');
    await page.getByLabel('Id').fill(EVIL);
    await page.getByRole('button', { name: 'Trace' }).click();
    await page.locator('main tr', { hasText: EVIL }).first().waitFor();
    expect(await page.locator('main :is(img, script, iframe, [onerror])').count()).toBe(0);
    expect(shown).toEqual(pages);
    // The status is answered by another route.
    expect([...asked, 'status'].toSorted()).toEqual(VERBS);
  });

  it('the page discards once by a double click, after a plan, a reason and a confirmation', async () => {
    const page = await open('dead-letters');
    const code = await firstCode(page);
    await page.goto(`${dashboard.url}#/dead-letters/${code}`);
    await page.locator('summary', { hasText: 'order-2' }).first().click();
    await page
      .getByRole('button', { name: /^Discard Orders\/order-2/ })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('listitem').filter({ hasText: 'discard Orders/order-2' }).waitFor();
    expect(await violations(page)).toEqual([]);
    const discard = dialog.getByRole('button', { name: 'Discard' });
    await discard.click();
    // Without a reason the browser refuses the form.
    expect(await page.locator('dialog input:invalid').count()).toBe(1);
    await dialog.getByLabel(/Why/).fill('a test order');
    await discard.dblclick();
    await dialog.getByText('1 dead letter discarded').waitFor();
    expect(await timesOf('dead-letters discard')).toBe(1);
  });

  it('dead letters are found by text and time, selected, and those alone are redriven after a dry run; the document is beside', async () => {
    const page = await open('dead-letters');
    await page.locator('.letter').first().waitFor();
    await page.getByLabel('Search').fill('order-1');
    await vi.waitUntil(async () => (await page.locator('.letter', { hasText: EVIL }).count()) === 0, 60_000);
    await page.getByLabel('First parked in').selectOption('The last hour');
    const letter = page.locator('.letter', { hasText: 'Orders/order-1 for days@1' });
    await letter.locator('summary').click();
    await letter.locator('pre.json', { hasText: '"cents": 100' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await letter.getByRole('checkbox').check();
    await page.getByRole('button', { name: 'Redrive 1 selected' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('listitem').first().waitFor();
    expect(await dialog.getByRole('listitem').allTextContents()).toEqual([
      expect.stringMatching(/^apply Orders\/order-1 to days@1 again/),
    ]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('Search').fill('');
    await page.getByLabel('Select all that are shown').check();
    const boxes = await page.locator('.letter').count();
    expect(boxes).toBeGreaterThan(2);
    await page.getByRole('button', { name: `Redrive ${boxes} selected` }).click();
    await vi.waitUntil(async () => (await dialog.getByRole('listitem').count()) === boxes, 60_000);
  });

  it('the page redrives once by a double click, also while others are parked', async () => {
    const page = await open('dead-letters');
    const code = await firstCode(page);
    await page.goto(`${dashboard.url}#/dead-letters/${code}`);
    await page.locator('summary', { hasText: 'order-1' }).first().click();
    // What is open stays open when another change is parked.
    await park(['order-3']);
    await page.locator('summary', { hasText: 'order-3' }).first().waitFor();
    await page.locator('button[aria-label^="Redrive Orders/order-1"]').first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('listitem').filter({ hasText: 'Orders/order-1' }).waitFor();
    await dialog.getByRole('button', { name: 'Redrive' }).dblclick();
    await dialog.locator('pre.said').waitFor();
    expect(await timesOf('dead-letters redrive')).toBe(1);
  });

  it('the page pauses and resumes a projection, and once by double clicks', async () => {
    const page = await open('projections/days');
    await page.getByRole('button', { name: 'Pause' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('stop reading changes').waitFor();
    await dialog.getByLabel('Why?').fill('a test');
    await dialog.getByRole('button', { name: 'Pause' }).dblclick();
    await dialog.getByText('days is paused').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).dblclick();
    await page.getByRole('dialog').locator('pre.said').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0);

    // Where ranges are seen, what reads them is paused; a pause is among what is wrong.
    await page.goto(`${dashboard.url}#/feeds`);
    await page.getByRole('button', { name: 'Pause what reads Customers' }).click();
    await dialog.getByText('stop reading changes').waitFor();
    await dialog.getByLabel('Why?').fill('a test of leases');
    await dialog.getByRole('button', { name: 'Pause' }).dblclick();
    await dialog.locator('pre.said').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.goto(`${dashboard.url}#/now`);
    await page.getByRole('cell', { name: 'tester paused it: a test of leases' }).waitFor();
    await page.goto(`${dashboard.url}#/feeds`);
    await page
      .getByRole('button', { name: /^Resume/ })
      .first()
      .click();
    await dialog.getByRole('button', { name: 'Resume' }).dblclick();
    await dialog.locator('pre.said').waitFor();
    expect([await timesOf('projections pause'), await timesOf('projections resume')]).toEqual([2, 2]);
  });

  it('the page traces a document to its places', async () => {
    await stage.container('Orders').items.upsert({ ...ORDER, id: 'order-17', placedAt: '2026-01-01T10:00:00.000Z' });
    await app.drained(AbortSignal.timeout(60_000));
    const page = await open('trace');
    // The document that was written last is offered; so is a parked one.
    await page.getByLabel('Container').selectOption('Orders');
    await page.locator('.table', { hasText: 'Parked' }).getByRole('link', { name: 'Orders/order-1' }).first().waitFor();
    expect(await violations(page)).toEqual([]);
    await page.locator('.table', { hasText: 'Last written' }).getByRole('link', { name: 'Orders/order-17' }).click();
    await page.locator('tr', { hasText: 'days@1' }).getByText('applied', { exact: true }).waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('the page switches the theme and keeps it; a digit opens a page', async () => {
    const page = await open('now', { colorScheme: 'light' });
    await loaded(page);
    const ground = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.getByRole('button', { name: 'Light or dark' }).click();
    const dark = await ground();
    expect(dark).not.toBe(light);
    await page.evaluate('delete document.documentElement.dataset.theme');
    // The grids, by their colours in the two themes.
    const drawn = (): Promise<boolean[]> =>
      page.evaluate(
        '((of) => { const all = [...of.getContext("2d").getImageData(0, 0, of.width, of.height).data].join(); return [all.includes("236,239,241,255"), all.includes("37,44,51,255")]; })(document.querySelector(".chart canvas"))',
      );
    for (const [colorScheme, grids] of [
      ['dark', [false, true]],
      ['light', [true, false]],
    ] as const) {
      await page.emulateMedia({ colorScheme });
      await vi.waitFor(async () => expect(await drawn()).toEqual(grids), 60_000);
    }
    await page.reload();
    await loaded(page);
    expect(await ground()).toBe(dark);
    await page.keyboard.press('2');
    await page.getByRole('heading', { level: 1, name: 'Projections' }).waitFor();
  });

  it('nothing jumps while it is live', async () => {
    const page = await open('now');
    await loaded(page);
    await page.locator('main table tbody tr').first().waitFor();
    await page.evaluate(
      'window.shifts = 0; window.looks = 0; new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shifts += one.value; }).observe({ type: "layout-shift" }); new EventSource("/api/events").addEventListener("status", () => { window.looks += 1; })',
    );
    await until(page, 'window.looks >= 6');
    expect(await page.evaluate('window.shifts')).toBeLessThan(0.01);
  });

  it('ten minutes of looks leave no more on the page than one, and less than 100 MB', async () => {
    const page = await open('now');
    await loaded(page);
    const devtools = await page.context().newCDPSession(page);
    const measured = async (): Promise<{ nodes: number; heap: number }> => {
      await devtools.send('HeapProfiler.collectGarbage');
      const { usedSize } = await devtools.send('Runtime.getHeapUsage');
      return { nodes: await page.evaluate('document.querySelectorAll("*").length'), heap: usedSize };
    };
    // As `dev` sends them, at a look a second, and as fast as the page takes them.
    const looks = (from: number, to: number): string =>
      Array.from({ length: to - from }, (_, index) => {
        const ms = 1_000 * (from + index);
        const at = new Date(ms).toISOString();
        return `event: status\ndata: ${JSON.stringify({ at, value: statusAt(ms, 20_000_000) })}\n\n`;
      }).join('');
    const play = async (from: number, to: number): Promise<void> => {
      const headers = { 'content-type': 'text/event-stream' };
      await page.unrouteAll();
      await page.route('**/api/events', (route) => route.fulfill({ headers, body: looks(from, to) }), { times: 1 });
      await page.reload();
      await until(page, `document.querySelector("#connection").textContent === "Disconnected: trying again"`);
    };
    await play(0, 60);
    const cut =
      '((of) => of.getContext("2d").getImageData(0, 0, 1, of.height).data.some(Boolean))(document.querySelector(".chart canvas"))';
    expect(await page.evaluate(cut)).toBe(false);
    const minute = await measured();
    await play(0, 600);
    const ten = await measured();
    expect(ten.nodes).toBe(minute.nodes);
    expect(ten.heap).toBeLessThan(100_000_000);
    expect(await page.locator('dd').first().textContent()).toBe('20,000,000');
  });

  it('the page asks by itself where there is no stream, as in a function app, and not while it is hidden', async () => {
    const page = await open('now');
    await loaded(page);
    const streams: string[] = [];
    page.on('request', (request) => void (request.url().endsWith('/api/events') && streams.push(request.url())));
    let asked = 0;
    page.on('request', (request) => void (request.url().endsWith('/api/run/status') && (asked += 1)));
    await page.route('**/api/session', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...((await response.json()) as object), pollMs: 100 } });
    });
    await page.reload();
    await loaded(page);
    await vi.waitUntil(() => asked >= 3, 60_000);
    expect(streams).toEqual([]);
    await page.evaluate(
      'Object.defineProperty(document, "hidden", { get: () => true, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))',
    );
    // It never came to this while it asked each 100 ms.
    await page.waitForLoadState('networkidle');
    const hidden = asked;
    await page.evaluate('delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))');
    await vi.waitUntil(() => asked > hidden, 60_000);
  });

  it('the page waits for a pipeline that is being opened, and shows why one cannot be', async () => {
    const opening = Promise.withResolvers<Workspace>();
    const early = await serve(stage, { workspace: opening.promise });
    const page = await open('now');
    await page.goto(`${early.url}#/projections`);
    await page.getByText('Starting…').waitFor();
    await page.getByText('Loading…').waitFor();
    expect(await violations(page)).toEqual([]);
    opening.resolve(workspaceOf(stage));
    await page.getByRole('link', { name: 'days@1' }).waitFor();
    await early[Symbol.asyncDispose]();
    const never = Promise.reject(new Error('no account is there'));
    await using failing = await serve(stage, { workspace: never });
    await page.goto(`${failing.url}#/now`);
    await page.getByText('no account is there').waitFor();
    expect(await page.locator('#connection').textContent()).toBe('The pipeline can’t be read');
    expect(await violations(page)).toEqual([]);
  });

  it('the page draws the model, and shows findings beside their lines and costs by pattern', async () => {
    const folder = modelWithFindings();
    const workspace = { ...workspaceOf(stage), directory: folder, folder };
    await using second = await serve(stage, { workspace: Promise.resolve(workspace) });
    const page = await open('now', { viewport: { width: 360, height: 740 } });
    await page.goto(`${second.url}#/model`);
    await page.locator('.drawing .name', { hasText: 'CustomerOrders' }).first().waitFor();
    const finding = page.locator('.finding').first();
    await finding.waitFor();
    const [, file = '', line = '0'] =
      /([\w.]+):(\d+)$/.exec((await finding.locator('p.note').first().textContent()) ?? '') ?? [];
    const source = readFileSync(join(folder, file), 'utf8').split('\n')[Number(line) - 1]?.trim() ?? '';
    expect(source.length).toBeGreaterThan(3);
    expect(await finding.locator('pre').textContent()).toContain(source.slice(0, 500));
    // The container whose throughput is too small is marked in the drawing.
    await page.locator('.drawing .marked.bad', { hasText: /Sales.*▲ \d+ error/ }).waitFor();
    const costs = page.locator('.table', { hasText: 'By pattern and projection' });
    await costs
      .getByRole('cell', { name: /Show a product with its variants/ })
      .first()
      .waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it('the page asks for a token, and shows that it is disconnected', async () => {
    const second = await serve(stage, { tokens: { reader: 'reader-0123456789' } });
    const page = await open('now');
    await page.goto(second.url);
    await page.getByLabel('Token').fill('wrong-0123456789');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('does not know this token').waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByLabel('Token').fill('reader-0123456789');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await loaded(page);
    await page.goto(`${second.url}#/projections/days`);
    await page.getByText('Versions').first().waitFor();
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
    await second[Symbol.asyncDispose]();
    await page.getByText('Disconnected: trying again').waitFor();
    expect(await violations(page)).toEqual([]);
  });
});
