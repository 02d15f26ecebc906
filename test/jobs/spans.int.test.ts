// The trace of a job names the span that queued it, in another process and perhaps hours before.
import { SpanStatusCode } from '@opentelemetry/api';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { startTracing } from '../../src/base/telemetry/opentelemetry.ts';
import { startEmbeddedJobs } from '../../src/host/dev/jobs-embedded.ts';
import { jobHandlers } from '../../src/host/run/jobs.ts';
import { registry } from '../../src/host/registry.ts';
import { openWorkspace } from '../../src/runtime/open-workspace.ts';
import { cli } from '../cli/cli.ts';
import { recordedSpans } from '../support/spans.ts';
import { SHOP, type Stage, openStage } from '../support/stage.ts';

const WITHIN = { withinMs: 60_000 };

let stage: Stage;
let store: Awaited<ReturnType<typeof startEmbeddedJobs>>;
beforeEach(async () => {
  [stage, store] = await Promise.all([openStage(), startEmbeddedJobs()]);
  for (const [name, value] of Object.entries({ ...stage.env, JOBS_URL: store.url })) vi.stubEnv(name, value);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await store[Symbol.asyncDispose]();
  await stage[Symbol.asyncDispose]();
});

it('a job is a trace of its own, with a link to the operation that queued it, and its operation below', async () => {
  const { named, under } = recordedSpans();
  const queued = await cli(['projections', 'verify', '--background', '--json', '--pipeline', SHOP]);
  expect(queued).toMatchObject({ code: 0, stderr: '' });
  const [asking] = named('millrace.operation');
  expect(asking?.attributes).toEqual({ 'millrace.operation': 'projections verify' });

  // As a worker does, whose tracing its command line starts.
  onTestFinished(startTracing());
  await using workspace = disposable(openWorkspace({ directory: process.cwd(), pipeline: SHOP }));
  const jobs = await workspace.jobs();
  expect(await jobs.drain(jobHandlers(registry, workspace), WITHIN)).toBe(1);
  const [job] = named('millrace.job');
  expect(job).toMatchObject({ parentSpanContext: undefined, attributes: { 'millrace.job': 'operation' } });
  expect(job?.links).toMatchObject([{ context: { ...ids(asking), isRemote: true } }]);
  expect(job?.spanContext().traceId).not.toBe(asking?.spanContext().traceId);
  const below = job ? under(job) : [];
  expect(below).toMatchObject([{ name: 'millrace.operation', attributes: asking?.attributes }]);
  expect(below[0] && under(below[0]).map(({ name }) => name)).toContain('query_items Orders');
});

it('a job that was queued without a trace has no link, and one that fails is an error', async () => {
  await using workspace = disposable(openWorkspace({ directory: process.cwd(), pipeline: SHOP }));
  const jobs = await workspace.jobs();
  await jobs.enqueue('operation', { name: 'no such verb', input: {}, actor: 'me' }, { dedupe: 'x', attempts: 1 });
  expect(JSON.stringify(await jobs.list())).not.toContain('traceparent');
  const { named } = recordedSpans();
  onTestFinished(startTracing());
  expect(await jobs.drain(jobHandlers(registry, workspace), WITHIN)).toBe(1);
  expect(named('millrace.job')).toMatchObject([
    { links: [], status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': 'not-found' } },
  ]);
});

const ids = (span: { spanContext(): { traceId: string; spanId: string } } | undefined) => {
  const { traceId, spanId } = span?.spanContext() ?? {};
  return { traceId, spanId };
};

function disposable<T extends { close(): Promise<void> }>(of: T): T & AsyncDisposable {
  return Object.assign(of, { [Symbol.asyncDispose]: () => of.close() });
}
