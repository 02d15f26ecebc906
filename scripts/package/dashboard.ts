// The dashboard as the package serves it: every page in a browser, in both themes, and an action.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Browser, type Page, chromium } from 'playwright-core';
import { LOADED, PAGES, beyond, violations } from '../../test/dashboard/browsed.ts';
import { CHROMIUM } from '../../test/dashboard/chromium.ts';

const VIEWS = [
  { colorScheme: 'light', viewport: { width: 1280, height: 860 } },
  { colorScheme: 'dark', viewport: { width: 360, height: 740 } },
] as const;
const WITHIN_MS = 120_000;

/** Opens the dashboard of `millrace dev` in the project `app`. Resolves to what it did. @throws Error if a page has a fault */
export async function openPacked(app: string, env: NodeJS.ProcessEnv): Promise<string> {
  if (CHROMIUM === undefined) return 'its dashboard was not opened: no Chromium here (apt-get install chromium)';
  const dev = spawn('node', [join('node_modules', 'millrace', 'bin', 'millrace.mjs'), 'dev'], { cwd: app, env });
  const ended = once(dev, 'exit');
  let said = '';
  for (const stream of [dev.stdout, dev.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  try {
    const address = await until('millrace dev', () => {
      if (dev.exitCode !== null) throw new Error(`millrace dev ended with ${dev.exitCode}\n${said}`);
      return said.includes('documents loaded') ? /^Dashboard: (\S+)/m.exec(said)?.[1] : undefined;
    });
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    try {
      for (const view of VIEWS) await everyPage(browser, address, view);
      await pauses(browser, address);
    } finally {
      await browser.close();
    }
  } finally {
    dev.kill('SIGINT');
    await ended;
  }
  return `its dashboard opens: ${PAGES.length} pages in both themes, without a violation or a request to elsewhere`;
}

async function everyPage(browser: Browser, address: string, view: (typeof VIEWS)[number]): Promise<void> {
  const { page, wrong } = await open(browser, view);
  for (const id of PAGES) {
    await page.goto(`${address}#/${id}`);
    await until(`${id} to load`, async () =>
      wrong.length > 0 || (await page.evaluate(LOADED)) === true ? true : undefined,
    );
    wrong.push(...(await violations(page)));
    if ((await beyond(page)) > 0) wrong.push('wider than the screen');
    if (wrong.length > 0) throw new Error(`The page ${id}, ${view.colorScheme}:\n${wrong.join('\n')}`);
  }
  await page.context().close();
}

async function pauses(browser: Browser, address: string): Promise<void> {
  const { page, wrong } = await open(browser, VIEWS[0]);
  await page.goto(`${address}#/projections/days`);
  await page.getByRole('button', { name: 'Pause' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Why?').fill('a check of the package');
  await dialog.getByRole('button', { name: 'Pause' }).dblclick();
  await dialog.getByText('days is paused').waitFor();
  if (wrong.length > 0) throw new Error(`Pausing a projection:\n${wrong.join('\n')}`);
  await page.context().close();
}

/** A page, and what is wrong with it. A refused request is shown by the page, so the browser's note of it is no fault. */
async function open(browser: Browser, view: (typeof VIEWS)[number]): Promise<{ page: Page; wrong: string[] }> {
  const page = await (await browser.newContext(view)).newPage();
  page.setDefaultTimeout(WITHIN_MS);
  const wrong: string[] = [];
  page.on('pageerror', ({ message }) => wrong.push(message));
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') wrong.push(`a request for ${request.url()}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) wrong.push(message.text());
  });
  return { page, wrong };
}

/** The first answer of `ask` that isn't undefined. */
export async function until<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  withinMs = WITHIN_MS,
): Promise<T> {
  const end = performance.now() + withinMs;
  while (performance.now() < end) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await delay(100);
  }
  throw new Error(`Waited in vain for ${what}`);
}
