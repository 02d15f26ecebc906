// A host of all shards, with the log of the effects of its reaction: node host-process.ts WORK, as JSON.
import { appendFileSync } from 'node:fs';
import { subscribe } from 'node:diagnostics_channel';
import type { Settings } from '../../../../src/base/settings.ts';
import { loadPipeline } from '../../../../src/runtime/pipeline/load-pipeline.ts';
import { compose } from '../../../../src/runtime/hosts/processor-host.ts';
import { openServices } from '../../../../src/runtime/services.ts';

export interface HostWork {
  readonly settings: Settings;
  readonly folder: string;
  readonly host: string;
  readonly log: string;
  readonly pollMs: number;
  /** The leases of a host that was killed are free after this. */
  readonly expirationMs: number;
}

export interface Effect {
  readonly key: string;
  readonly order: string;
  readonly cents: number;
}

const { settings, folder, host, log, pollMs, expirationMs } = JSON.parse(process.argv[2] ?? '') as HostWork;
// Written before the effect counts as done, so that a kill leaves none out.
subscribe('test.moving.effects', (effect) => appendFileSync(log, `${JSON.stringify(effect)}\n`));
const services = await openServices(settings);
const app = await compose({
  settings,
  services,
  loaded: await loadPipeline(folder),
  host,
  readLagMs: 0,
  viewsRefreshMs: 1_000,
  timings: { pollMs, acquireMs: 200, expirationMs, renewMs: expirationMs / 4 },
});
await app.start();
process.send?.('started');
process.on('disconnect', () => void app.stop().finally(() => process.exit(0)));
