// The dashboard in a browser while hosts apply 50,000 changes a second and an operation reports each change.
import { type CDPSession, chromium } from 'playwright-core';
import { startDashboard } from '../src/dashboard/server.ts';
import { playedOperations } from '../test/dashboard/played.ts';
import { CHROMIUM } from '../test/dashboard/chromium.ts';
import { post } from '../test/dashboard/served.ts';
import { type Benchmark, type Figure, atMost, plain } from './support/measure.ts';

const MINUTES = Number(process.env['MILLRACE_MINUTES'] ?? 10);
const RATE = 50_000;
/** A look at the pipeline each second, as in `millrace dev`. */
const EVERY_MS = 1_000;
const LONGEST_TASK_MS = 50;
const MB = 1_000_000;

export const b27: Benchmark = {
  id: 'B27',
  title: `the dashboard for ${MINUTES} minutes at ${RATE} changes a second`,
  run: async () => {
    if (CHROMIUM === undefined) throw new Error('There is no Chromium: apt-get install chromium');
    await using dashboard = await startDashboard({
      operations: playedOperations(RATE),
      workspace: Promise.resolve({} as never),
      address: '127.0.0.1',
      port: 0,
      tokens: {},
      everyMs: EVERY_MS,
      actor: 'bench',
      version: 'bench',
    });
    // It ends with the dashboard.
    void post(dashboard.url, '/api/run/projections/rebuild', { input: { name: 'days' }, once: 'press-one' }).catch(
      () => undefined,
    );
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
    try {
      const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
      const devtools = await page.context().newCDPSession(page);
      const updates = await countUpdates(devtools);
      await page.goto(`${dashboard.url}#/now`);
      await page.locator('main table tbody tr').first().waitFor();
      // What the page does to open isn't part of it.
      await page.evaluate(
        'window.tasks = []; new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" })',
      );
      const early = await heap(devtools);
      await new Promise((resolve) => setTimeout(resolve, MINUTES * 60_000));
      const tasks = await page.evaluate<number[]>('window.tasks');
      return figuresOf(updates(), tasks, [early, await heap(devtools)]);
    } finally {
      await browser.close();
    }
  },
};

/** Times of the events that the browser has got, in seconds. */
async function countUpdates(devtools: CDPSession): Promise<() => readonly number[]> {
  const times: number[] = [];
  devtools.on('Network.eventSourceMessageReceived', ({ timestamp }) => void times.push(timestamp));
  await devtools.send('Network.enable');
  return () => times;
}

/** Bytes of the page's scripts after a collection. */
async function heap(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.enable');
  await devtools.send('HeapProfiler.collectGarbage');
  return (await devtools.send('Runtime.getHeapUsage')).usedSize;
}

function figuresOf(times: readonly number[], tasks: readonly number[], [early, late]: [number, number]): Figure[] {
  // Each second that begins with an update; the last one sent may be late, the one after it isn't early.
  const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1).length));
  return [
    atMost('updates that the browser got in a second, at most', most, 10, ''),
    plain('updates', times.length, ''),
    atMost('longest task of the page', Math.max(0, ...tasks), LONGEST_TASK_MS, 'ms'),
    plain('tasks over 50 ms', tasks.length, ''),
    plain('heap of the page at the beginning', early / MB, 'MB'),
    atMost('heap of the page at the end', late / MB, 100, 'MB'),
  ];
}
