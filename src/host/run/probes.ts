// What an orchestrator asks of a host or a job worker: whether it lives, what keeps it from its work, how much there is to do, and its
// metrics. Nothing here changes anything.
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { metrics } from '@opentelemetry/api';
import { sharedError } from '../../base/shared-errors.ts';
import { messageOf } from '../../base/errors.ts';
import type { Screen } from '../../procedures/screen.ts';
import { type Problems, atMostEvery } from './problems.ts';
import { portFlag } from './dashboard.ts';

/** KEDA asks each process once in a polling interval, 30 s by default: what `/scale` says is read once in this time. */
const SCALE_MS = 10_000;

/** Prometheus waits for ten seconds by default. */
const SCRAPE_MS = 5_000;

export interface ProbesOptions {
  readonly screen: Screen;
  /** 0: any free one. */
  readonly port: number;
  /** What `/scale` answers: how much there is to do, over all processes. */
  readonly scale: () => Promise<Readonly<Record<string, number>>>;
}

/** A flag with or without a port. */
export const probesFlag = portFlag
  .optional()
  .describe(
    'also serve /livez, /readyz, /scale and /metrics, at this port of MILLRACE_PROBES_ADDRESS (default 127.0.0.1)',
  );

export interface Probes extends AsyncDisposable {
  readonly url: string;
  /** From now on `/readyz` says yes if there is no problem; undefined: no longer. */
  ready(problems: Problems | undefined): void;
}

/**
 * Serves `/livez`, `/readyz`, `/scale` and `/metrics` at MILLRACE_PROBES_ADDRESS. Metrics name tenants and projections, so
 * that is this machine alone unless told otherwise.
 * @throws UsageError `cannot-listen`
 */
export async function startProbes({ screen, port, scale: read }: ProbesOptions): Promise<Probes> {
  const address = process.env['MILLRACE_PROBES_ADDRESS'] || '127.0.0.1';
  let problems: Problems | undefined;
  const exported = await exportMetrics();
  const scale = atMostEvery(SCALE_MS, read);
  const answers: Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => unknown>> = {
    '/livez': (_, response) => json(response, 200, { live: true }),
    '/readyz': async (_, response) => {
      const found = await problems?.();
      const ready = found?.length === 0;
      json(response, ready ? 200 : 503, { ready, problems: found ?? [] });
    },
    '/scale': async (_, response) => json(response, 200, await scale()),
    '/metrics': (request, response) =>
      exported
        ? exported.handle(request, response)
        : json(response, 503, { error: 'This process already gives its metrics to another provider.' }),
  };
  const server = createServer((request, response) => {
    const answer = answers[(request.url ?? '').split('?')[0] ?? ''];
    if (!answer) return json(response, 404, { error: `There is ${Object.keys(answers).join(', ')}.` });
    if (request.method !== 'GET' && request.method !== 'HEAD') return json(response, 405, { error: 'Use GET.' });
    // The text of an error may hold an address, so it goes to the host's own log.
    Promise.resolve(answer(request, response)).catch((error: unknown) => {
      screen.line(`${request.url} failed: ${messageOf(error)}`);
      json(response, 503, { error: 'The amount of work could not be read; the log of this process says why.' });
    });
  });
  server.listen(port, address);
  await once(server, 'listening').catch((error: unknown) => {
    throw sharedError('cannot-listen', `The probes can't listen at ${address}:${port}: ${messageOf(error)}`, {
      hint: 'Give another port, or stop the process that has this one; MILLRACE_PROBES_ADDRESS is the address.',
    });
  });
  const at = server.address() as AddressInfo;
  const url = `http://${address === '0.0.0.0' ? '127.0.0.1' : address}:${at.port}/`;
  screen.line(`Probes: ${url}readyz, livez, scale, metrics`);
  return {
    url,
    ready: (now) => {
      problems = now;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await Promise.all([new Promise((resolve) => server.close(resolve)), exported?.end()]);
    },
  };
}

/** The process's metrics in the text format of Prometheus; undefined: another provider is registered. */
async function exportMetrics() {
  const { PrometheusExporter } = await import('@opentelemetry/exporter-prometheus');
  const { MeterProvider } = await import('@opentelemetry/sdk-metrics');
  /** What is asked of a service that doesn't answer is left out of a scrape. */
  class InTime extends PrometheusExporter {
    override collect() {
      return super.collect({ timeoutMillis: SCRAPE_MS });
    }
  }
  const exporter = new InTime({ preventServerStart: true, withoutTargetInfo: true });
  const provider = new MeterProvider({ readers: [exporter] });
  if (!metrics.setGlobalMeterProvider(provider)) {
    await provider.shutdown();
    return undefined;
  }
  return {
    handle: (request: IncomingMessage, response: ServerResponse): void =>
      exporter.getMetricsRequestHandler(request, response),
    end: async (): Promise<void> => {
      metrics.disable();
      await provider.shutdown();
    },
  };
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(JSON.stringify(value));
}
