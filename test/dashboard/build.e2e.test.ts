// A version's way in a browser: built, promoted, and compared with its sources. It waits for the read lag of the verbs.
import { expect, it, onTestFinished } from 'vitest';
import { VERSIONS } from '../verbs/projections/versions.ts';
import { openStage } from '../support/stage.ts';
import { CHROMIUM } from './chromium.ts';
import { openPage } from './opened.ts';
import { post } from './served.ts';

it.skipIf(CHROMIUM === undefined)(
  'in Chromium: builds a version, promotes it, shows a difference side by side, goes back and rewinds, each once by double clicks',
  async () => {
    const stage = await openStage({}, VERSIONS);
    onTestFinished(() => stage[Symbol.asyncDispose]());
    for (const id of ['order-1', 'order-2']) {
      const order = {
        id,
        type: 'order',
        storeId: 's1',
        customerId: 'c1',
        placedAt: '2026-01-01T10:00:00.000Z',
        cents: 100,
      };
      await stage.container('Orders').items.upsert(order);
    }
    const { app, url, page } = await openPage(stage);
    const runs: string[] = [];
    page.on('request', (request) => {
      const [, verb] = /\/api\/run\/(projections\/verify|leases\/rewind)$/.exec(request.url()) ?? [];
      if (verb && !(request.postDataJSON() as { dryRun?: true }).dryRun) runs.push(verb);
    });
    await page.goto(`${url}#/projections/days`);

    await page.getByRole('button', { name: 'Build days@2' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('listitem').filter({ hasText: 'with days@2' }).waitFor();
    await dialog.getByRole('button', { name: 'Build days@2' }).dblclick();
    await dialog.getByText('days@2 is filled').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.locator('tr', { hasText: 'filled' }).waitFor();

    await page.getByRole('button', { name: 'Promote' }).click();
    await dialog.getByRole('listitem').filter({ hasText: 'make days@2 current' }).waitFor();
    await dialog.getByRole('button', { name: 'Promote' }).dblclick();
    await dialog.getByText('days@2 is current').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByRole('button', { name: 'Back to the version before' }).waitFor();
    await expect.poll(() => page.locator('tr', { hasText: 'current' }).textContent()).toContain('2');

    await app.drained(AbortSignal.timeout(60_000));
    const { into } = stage.loaded.pipeline.projections.find(({ name, version }) => name === 'days' && version === 2)!;
    const query = { query: 'SELECT * FROM c WHERE c.type = @type', parameters: [{ name: '@type', value: into.type }] };
    const { resources } = await stage.container(into.container).items.query<{ id: string }>(query).fetchAll();
    expect(resources).toHaveLength(1);
    await stage.container(into.container).items.upsert({ ...resources[0], cents: 999_999 });
    await page.getByRole('button', { name: 'Verify' }).click();
    await dialog.getByRole('button', { name: 'Verify' }).dblclick();
    await dialog.locator('pre.said').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    // The field that differs is in one row: on the left as the sources say, on the right as it is stored.
    const sides = page.locator('.sides').first();
    await sides.getByText('As it is stored').waitFor();
    const cents = sides.locator('tbody', { has: page.getByRole('rowheader', { name: 'cents', exact: true }) });
    expect(await cents.locator('td').first().textContent()).not.toContain('999999');
    expect(await cents.locator('td').last().textContent()).toContain('999999');
    expect(await sides.locator('tbody').count()).toBe(1);
    await page.getByText(/fields are equal/).waitFor();

    // The timeline: built, then current, and the version before is kept.
    const spans = await page.getByRole('img', { name: /days@2/ }).getAttribute('aria-label');
    expect(spans).toMatch(/days@1 current before until /);
    expect(spans).toMatch(/days@2 built from /);
    expect(spans).toMatch(/days@2 current from .* until now/);
    expect(spans).toMatch(/days@1 kept for readers from /);
    await page.locator('tr', { hasText: 'projections promote' }).getByText('done').waitFor();

    await page.getByRole('button', { name: 'Back to the version before' }).click();
    await dialog.getByRole('listitem').filter({ hasText: 'days@1' }).first().waitFor();
    await dialog.getByRole('button', { name: 'Back to the version before' }).dblclick();
    await dialog.getByText('days@1 is current').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();

    await app.stop();
    await page.goto(`${url}#/feeds`);
    await page.getByRole('button', { name: 'Rewind the leases of Orders' }).click();
    await dialog.getByLabel('To').fill('beginning');
    await page.keyboard.press('Enter');
    await dialog.getByRole('listitem').first().waitFor();
    await dialog.getByRole('button', { name: 'Rewind' }).dblclick();
    // It waits for three expirations of the leases, and ends with the dashboard.
    await dialog.getByText('Running.').waitFor();

    const recorded = async (): Promise<string[]> => {
      const { body } = await post(url, '/api/run/audit', { input: { most: 100 } });
      return (body['result'] as { verb: string }[]).map(({ verb }) => verb).toSorted();
    };
    // To promote and to go back is one verb. A verification is recorded nowhere.
    const verbs = ['leases rewind', 'projections promote', 'projections promote', 'projections rebuild'];
    await expect.poll(recorded, { timeout: 90_000 }).toEqual(verbs);
    expect(runs).toEqual(['projections/verify', 'leases/rewind']);
  },
);
