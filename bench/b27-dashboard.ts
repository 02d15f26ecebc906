// The dashboard in a browser while hosts apply 50,000 changes a second and an operation reports each change.
import { subscribe } from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { type Browser, type CDPSession, type Page, chromium } from 'playwright-core';
import { startDashboard } from '../src/dashboard/server.ts';
import { playedOperations } from '../test/dashboard/played.ts';
import { CHROMIUM } from '../test/dashboard/chromium.ts';
import { post } from '../test/dashboard/served.ts';
import { type Benchmark, type Figure, atMost, plain, sized } from './support/measure.ts';

const MINUTES = Number(process.env['MILLRACE_MINUTES'] ?? sized(10, 0.1));
const RATE = 50_000;
/** A look at the pipeline each second, as in `millrace dev`. */
const EVERY_MS = 1_000;
/** At the end the page's tasks are traced for so many minutes. */
const TRACED = Math.min(1, MINUTES / 2);
const LONGEST_TASK_MS = 50;
const MB = 1_000_000;

export const b27: Benchmark = {
  id: 'B27',
  title: `the dashboard for ${MINUTES} minutes at ${RATE} changes a second`,
  lacks: CHROMIUM === undefined ? 'Chromium: apt-get install chromium' : undefined,
  run: async () => {
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
    const updates = sentUpdates();
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
    try {
      const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage();
      const devtools = await page.context().newCDPSession(page);
      await page.goto(`${dashboard.url}#/now`);
      await page.locator('main table tbody tr').first().waitFor();
      // What the page does to open isn't part of it.
      await page.evaluate(
        'window.tasks = []; new PerformanceObserver((list) => window.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" })',
      );
      const early = await heap(devtools);
      await minutes(MINUTES - TRACED);
      const cpu = await traced(browser, page);
      const tasks = await page.evaluate<number[]>('window.tasks');
      return figuresOf(updates, tasks, cpu, [early, await heap(devtools)]);
    } finally {
      await browser.close();
    }
  },
};

const minutes = (of: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, Math.max(0, of * 60_000)));

/** When the server wrote an event to the stream, in seconds; the list grows. */
function sentUpdates(): readonly number[] {
  const times: number[] = [];
  subscribe('http.server.request.start', (message) => {
    const { response } = message as { readonly response: ServerResponse };
    const write = response.write.bind(response) as (...given: unknown[]) => boolean;
    response.write = (...given: unknown[]): boolean => {
      const [chunk] = given;
      if (chunk instanceof Uint8Array && Buffer.from(chunk.subarray(0, 6)).toString() === 'event:')
        times.push(performance.now() / 1000);
      return write(...given);
    };
  });
  return times;
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread's own time: other work on the machine isn't in it. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** The processor time of each task of the page in some last minutes, in milliseconds. */
async function traced(browser: Browser, page: Page): Promise<readonly number[]> {
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  await minutes(TRACED);
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const mains = new Set(
    traceEvents
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid} ${tid}`),
  );
  return traceEvents
    .filter(({ name, pid, tid }) => name.endsWith('RunTask') && mains.has(`${pid} ${tid}`))
    .map(({ tdur = 0 }) => tdur / 1000);
}

/** Bytes of the page's scripts after a collection. */
async function heap(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.enable');
  await devtools.send('HeapProfiler.collectGarbage');
  return (await devtools.send('Runtime.getHeapUsage')).usedSize;
}

function figuresOf(
  times: readonly number[],
  tasks: readonly number[],
  cpu: readonly number[],
  [early, late]: readonly [number, number],
): Figure[] {
  const most = Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + 1).length));
  return [
    atMost('updates that the server sent in a second, at most', most, 10, ''),
    plain('updates', times.length, ''),
    atMost(`longest of ${cpu.length} tasks, processor time`, Math.max(0, ...cpu), LONGEST_TASK_MS, 'ms'),
    plain('longest task by the clock', Math.max(0, ...tasks), 'ms'),
    plain(`tasks over ${LONGEST_TASK_MS} ms by the clock`, tasks.length, ''),
    plain('heap of the page at the beginning', early / MB, 'MB'),
    atMost('heap of the page at the end', late / MB, 100, 'MB'),
  ];
}
