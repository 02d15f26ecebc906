// The pages by keyboard alone: a page, a dialog and out of it again, and an action to its end.
import { expect, it, onTestFinished, vi } from 'vitest';
import { openStage } from '../support/stage.ts';
import { loaded, until } from './asked-of-pages.ts';
import { CHROMIUM } from './chromium.ts';
import { openPage } from './opened.ts';

const ORDER = { type: 'order', storeId: 's1', customerId: 'c1', cents: 100 };

it.skipIf(CHROMIUM === undefined)(
  'in Chromium: pauses and resumes a projection, and goes on where it was',
  async () => {
    const stage = await openStage();
    onTestFinished(() => stage[Symbol.asyncDispose]());
    const { app, url, page } = await openPage(stage);
    await page.goto(`${url}#/projections/days`);
    await loaded(page);
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    const focused = (): Promise<string> => page.evaluate('document.activeElement.textContent.trim()');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('Skip to the page');
    await page.keyboard.press('Enter');
    const seen: string[] = [];
    for (let at = 0; at < 30 && seen.at(-1) !== 'Pause'; at++) {
      await page.keyboard.press('Tab');
      seen.push(await focused());
    }
    expect(seen.at(-1)).toBe('Pause');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByLabel('Why?').waitFor();
    // A digit in a field is a digit.
    await page.getByRole('dialog').getByLabel('Why?').fill('2');
    await page.keyboard.press('Escape');
    await vi.waitUntil(async () => (await page.getByRole('dialog').count()) === 0, 30_000);
    expect(await focused()).toBe('Pause');
    /** Tab until the focus is on it. */
    const reach = async (name: string): Promise<void> => {
      for (let at = 0; at < 10 && (await focused()) !== name; at++) await page.keyboard.press('Tab');
      expect(await focused()).toBe(name);
    };
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('listitem').first().waitFor();
    await page.keyboard.type('by keyboard');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('days is paused').waitFor();
    await reach('Close');
    await page.getByRole('button', { name: 'Resume', includeHidden: true }).waitFor({ state: 'attached' });
    await page.keyboard.press('Enter');
    // The button that was pressed is gone, and the next Tab is on the page, not at its head.
    await vi.waitUntil(async () => (await page.evaluate('document.activeElement.id')) === 'main', 30_000);
    await reach('Resume');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByRole('listitem').first().waitFor();
    await reach('Resume');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').locator('pre.said').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    // Nor does the focus go when the page is written again, because something else has changed.
    await page.getByRole('button', { name: 'Verify' }).focus();
    await page.evaluate('window.before = document.activeElement');
    await stage.container('Orders').items.upsert({ ...ORDER, id: 'order-1', placedAt: 7 });
    await app.drained(AbortSignal.timeout(60_000));
    await until(page, '!window.before.isConnected');
    expect(await focused()).toBe('Verify');
  },
);
