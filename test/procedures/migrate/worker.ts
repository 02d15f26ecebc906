// Runs one operation in a process of its own, once it is told to: node worker.ts VERB NAME@VERSION FOLDER.
import { once } from 'node:events';
import { MillraceError } from '../../../src/base/errors.ts';
import { loadSettings } from '../../../src/base/settings.ts';
import { loadPipeline } from '../../../src/runtime/pipeline/load-pipeline.ts';
import { openServices } from '../../../src/runtime/services.ts';
import { migrate } from '../../../src/procedures/migrate/migrate.ts';
import { redrive } from '../../../src/procedures/dead-letters/redrive.ts';
import { promote } from '../../../src/procedures/promote/promote.ts';
import { rebuild } from '../../../src/procedures/rebuild/rebuild.ts';
import { replay } from '../../../src/procedures/replay/replay.ts';
import { options } from '../../verbs/projections/versions.ts';

const [, , verb = '', name = '', folder = ''] = process.argv;
const settings = loadSettings({});
const services = await openServices(settings);
const loaded = await loadPipeline(folder);
const { signal } = new AbortController();
const of = { settings, services, loaded };
const { state } = services.place;
const move = {
  state,
  source: services.place.database.container('Orders'),
  target: services.place.database.container('ByCustomer'),
  signal,
  readLagMs: 0,
};

const works: Readonly<Record<string, () => Promise<unknown>>> = {
  rebuild: () => rebuild(options(of, name, signal)),
  promote: () => promote(options(of, name, signal)),
  replay: () => replay({ ...options(of, name, signal), from: 'beginning', cold: true }),
  redrive: () => redrive({ ...of, signal, readLagMs: 0 }),
  migrate: () => migrate(move),
  rollback: () => migrate({ ...move, rollback: true }),
};
process.send?.('ready');
await once(process, 'message');
// Killed at its last request, a migration has taken effect, and another run has nothing to do.
await works[verb]?.().catch((error: unknown) => {
  if (!(error instanceof MillraceError && error.code === 'wrong-state')) throw error;
});
process.exit(0);
