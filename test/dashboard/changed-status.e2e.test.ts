// Pages of what the stage does not have: the status is changed on its way to the page.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SHOP, openStage } from '../support/stage.ts';
import { ARCHIVED, EVIL, loaded, withStatus } from './asked-of-pages.ts';
import { violations } from './browsed.ts';
import { CHROMIUM } from './chromium.ts';
import { openPage } from './opened.ts';
import { post, serve, workspaceOf } from './served.ts';

async function opened() {
  const stage = await openStage();
  onTestFinished(() => stage[Symbol.asyncDispose]());
  const { page, url } = await openPage(stage);
  onTestFinished(() => page.unrouteAll({ behavior: 'ignoreErrors' }));
  await page.goto(`${url}#/now`);
  return { stage, page, url };
}

describe.skipIf(CHROMIUM === undefined)('in Chromium', () => {
  it('differences are on Now: of a verification with the dry run of a repair, of a copy kept by hand by name', async () => {
    const { page } = await opened();
    const ended = {
      at: new Date().toISOString(),
      actor: 'tester',
      seconds: 1,
      sources: 9,
      compared: 9,
      differences: {},
    };
    const against = { projection: 'days', of: 'Legacy/day', oldest: ended.at, fitted: true };
    const examples = ['a', 'b', 'c', 'd'].map((id) => `Legacy/day {"id":"${id}"}`);
    await withStatus(page, {
      verified: { ...ended, different: 200 },
      against: [{ ...ended, different: 4, examples, against }],
    });
    await page.locator('.table', { hasText: 'Last comparisons' }).getByText('Legacy/day, kept by hand').waitFor();
    const beside = page.locator('tr', { hasText: '4 differences from Legacy/day' });
    await beside.getByText(`kept by hand: ${examples.slice(0, 3).join(', ')}, …`).waitFor();
    // Its fields have other names there, which a page can't give.
    await beside.getByText('Compare again with --map or --ignore').waitFor();
    expect(await beside.getByRole('button').count()).toBe(0);
    const row = page.locator('tr', { hasText: '200 differences left' });
    await row.getByRole('button', { name: 'Repair what differs' }).click();
    const steps = page.getByRole('dialog').getByRole('listitem');
    await steps.filter({ hasText: 'reset or remove the documents that differ' }).waitFor();
    expect(await violations(page)).toEqual([]);
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    // An exact time is in the title of how long ago it was.
    const since = row.locator('time');
    expect(await since.getAttribute('title')).toBe(`${ended.at.slice(0, 19).replace('T', ' ')}Z`);
    expect(await since.textContent()).toMatch(/^\d+\u00a0(s|min) ago$/);
  });

  it('Now has the button that verifies all projections, as long as they have not been verified', async () => {
    const { page } = await opened();
    await page.getByText('not verified yet').waitFor();
    const button = page.getByRole('button', { name: 'Verify all projections' });
    await button.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Verify', exact: true }).click();
    await dialog.getByText('no difference.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText(/verified .+ ago, no difference/).waitFor();
    expect(await button.count()).toBe(0);
  });

  it('a comparison with a copy kept by hand is made again from its row, and its text wraps', async () => {
    const { stage, page, url } = await opened();
    const { database } = stage.services.place;
    const { container } = await database.containers.createIfNotExists({ id: 'Legacy', partitionKey: '/storeId' });
    const day = { storeId: 's1', day: '2026-01-01', orders: 1, cents: 1 };
    for (const n of [1, 2, 3]) await container.items.upsert({ ...day, id: `${n}`, storeId: `s${n}`.repeat(60) });
    const input = { name: 'days', against: 'Legacy' };
    expect((await post(url, '/api/run/projections/verify', { input, once: crypto.randomUUID() })).status).toBe(200);
    await container.item('3', 's3'.repeat(60)).delete();
    await page.getByRole('button', { name: 'Compare days@1 with Legacy' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('compare it with the documents of Legacy').waitFor();
    await dialog.getByRole('button', { name: 'Compare' }).click();
    await dialog.getByText('compared with 2 documents of Legacy: 2 differences').waitFor();
    expect(await page.evaluate('((of) => of.scrollWidth - of.clientWidth)(document.querySelector(".said"))')).toBe(0);
    await page.getByText('2 differences from Legacy').waitFor();
    // A result is said without the table before it.
    await page.goto(`${url}#/operations`);
    const result = page.locator('.table', { hasText: 'Started from this dashboard' }).locator('td[data-label=Result]');
    await result
      .filter({ hasText: /^Recomputed from/ })
      .first()
      .waitFor();
  });

  it('a model that is code is drawn, without an error that no document is there', async () => {
    const { stage, page } = await opened();
    const folder = mkdtempSync(join(tmpdir(), 'millrace-code-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    copyFileSync(join(SHOP, 'model.examples.json'), join(folder, 'model.examples.json'));
    const { pipeline } = stage.loaded;
    const source = { file: join(folder, 'pipeline.ts'), text: '' };
    const workspace = {
      ...workspaceOf(stage),
      directory: folder,
      folder,
      declared: async () => ({ pipeline, source }),
    };
    const dashboard = await serve(stage, { workspace: Promise.resolve(workspace) });
    onTestFinished(() => dashboard[Symbol.asyncDispose]());
    await page.goto(`${dashboard.url}#/model`);
    await page.locator('.drawing .derived .name', { hasText: 'Summaries' }).waitFor();
    await page.getByText('The model is code').waitFor();
    await loaded(page);
    expect(await violations(page)).toEqual([]);
    const said = (await page.locator('main').textContent()) ?? '';
    expect(said).not.toMatch(/There is no|documents and the pipeline agree|neither/);
    await page.goto(`${dashboard.url}#/projections`);
    const asked = page.waitForResponse('**/api/run/model/cost');
    await page.reload();
    await (await asked).finished();
    await loaded(page);
    expect(await page.locator('.failure').count()).toBe(0);
  });

  it('beside what a change costs stands what it costs by the model', async () => {
    const { stage, page } = await opened();
    const folder = join(import.meta.dirname, '../../src/host/init/template/pipeline');
    const workspace = { ...workspaceOf(stage), directory: folder, folder };
    const dashboard = await serve(stage, { workspace: Promise.resolve(workspace) });
    onTestFinished(() => dashboard[Symbol.asyncDispose]());
    await page.goto(`${dashboard.url}#/projections`);
    const cell = page.locator('tr', { hasText: 'days@1' }).locator('td[data-label="By the model"]');
    await cell.filter({ hasText: /\d/ }).waitFor();
    expect(await cell.textContent()).toMatch(/^\d+$/);
  });

  it('a page that the pipeline has nothing for is not there', async () => {
    const { page } = await opened();
    const titles = (): Promise<string[]> => page.locator('#pages a').allTextContents();
    const always = ['Now', 'Projections', 'Dead letters', 'Feeds', 'Trace', 'Operations', 'Model'];
    await page.locator('#pages a', { hasText: 'Data' }).waitFor();
    expect(await titles()).toEqual([...always, 'Data']);
    await withStatus(page, { deferred: null });
    await loaded(page);
    expect(await titles()).toEqual(always);
  });

  it('the page restores a month of a tenant from where it is seen', async () => {
    const { page, url } = await opened();
    // The stage has no archive: the page gets a listing, and its plan is what it asks for.
    const stored = { archived: 7, blobs: 2, documents: 7, bytes: 900 };
    const row = { projection: 'orders-cold@1', tenant: 's1', period: '2026-01', ...stored };
    await page.route('**/api/run/archive/list', (route) =>
      route.fulfill({ json: { ok: true, result: [row, { ...row, tenant: EVIL }, damaged] } }),
    );
    const named = { projection: 'completed-order-history@12', tenant: '0f8fad5b-d9cb-469f-a165-70867728950e' };
    const fault = { code: 'blob-missing', what: 'No blob is stored. '.repeat(9), blob: 'x'.repeat(120) };
    const damaged = { ...row, ...named, archived: 12_345_678, blobs: null, bytes: null, fault };
    const answer = { ok: true, result: [], text: '7 documents are back', plan: { steps: ['read 2 blobs'], ru: 0 } };
    const asked: unknown[] = [];
    await page.route('**/api/run/archive/restore', (route) => {
      asked.push(route.request().postDataJSON());
      return route.fulfill({ json: answer });
    });
    await withStatus(page, ARCHIVED);
    await page.goto(`${url}#/data`);
    await page.getByText('blob-missing').waitFor();
    for (const width of [1160, 1280, 1920, 390]) {
      await page.setViewportSize({ width, height: 860 });
      const fits = await page.evaluate(
        `({ cut: [...document.querySelectorAll('.table')].filter((of) => of.scrollWidth > of.clientWidth).length, lines: new Set([...document.querySelectorAll('.table button')].map((of) => of.offsetHeight)).size, high: document.querySelector('.table button').offsetHeight < 45 })`,
      );
      expect({ width, fits }).toEqual({ width, fits: { cut: 0, lines: 1, high: true } });
    }
    await page.getByRole('button', { name: 'Restore 2026-01 of s1 from orders-cold' }).click();
    await page.getByRole('dialog').getByText('read 2 blobs').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.locator('main img').count()).toBe(0);
    await page.getByRole('dialog').getByRole('button', { name: 'Restore' }).dblclick();
    await page.getByText('7 documents are back').waitFor();
    const input = { name: 'orders-cold', tenant: 's1', from: '2026-01', to: '2026-01' };
    expect(asked).toEqual([{ input, dryRun: true }, expect.objectContaining({ input, once: expect.any(String) })]);
  });
});
