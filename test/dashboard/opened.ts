import { type Page, chromium } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { live } from '../verbs/projections/versions.ts';
import type { App } from '../../src/runtime/hosts/processor-host.ts';
import type { Stage } from '../support/stage.ts';
import { CHROMIUM } from './chromium.ts';
import { serve } from './served.ts';

/** A page in Chromium, and a dashboard over a stage whose host has handled all changes. They end with the test. */
export async function openPage(stage: Stage): Promise<{ app: App; url: string; page: Page }> {
  const app = await live(stage);
  onTestFinished(() => app.stop());
  await app.drained(AbortSignal.timeout(60_000));
  const dashboard = await serve(stage);
  onTestFinished(() => dashboard[Symbol.asyncDispose]());
  const browser = await chromium.launch({ executablePath: CHROMIUM!, args: ['--no-sandbox'] });
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  page.setDefaultTimeout(90_000);
  return { app, url: dashboard.url, page };
}
