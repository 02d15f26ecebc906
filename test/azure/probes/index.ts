// Every probe, and every numbered assumption that has none, with the reason. A new probe goes into the file of its
// group; test/azure/registry.unit.test.ts holds both lists against docs/assumptions.md.
import type { Probe } from '../probe.ts';
import { access } from './access.ts';
import { deployment } from './deployment.ts';
import { feed } from './feed.ts';
import { functions } from './functions.ts';
import { queries } from './queries.ts';
import { sessions } from './sessions.ts';
import { ttl } from './ttl.ts';
import { writes } from './writes.ts';

export const PROBES: readonly Probe[] = [feed, writes, ttl, queries, functions, sessions, access, deployment].flat();

const PARTITIONS =
  'It needs several physical partitions, and so provisioned throughput that costs more than a probe may.';
const CLIENT = 'It says what the client needs, and was measured with the client.';
const NO_PROOF = 'It says what may happen; that it didn’t proves nothing.';
const FAILOVER = 'It needs a failover, a restore or several regions to write to.';
const OTHERS = 'It is about the code of another host or client, and was read there.';
const HUBS = 'It needs an Event Hubs namespace.';
const PLATFORM = 'It needs a function app in Azure.';
const HOST = '`npm run test:func` asks it of a running host.';

const because = (why: string, ...numbers: string[]): [string, string][] => numbers.map((number) => [number, why]);

/** Numbers without a probe, and why. */
export const WITHOUT_PROBE: ReadonlyMap<string, string> = new Map([
  ...because(NO_PROOF, 'A3', 'A11', 'E7', 'E64', 'H2'),
  ...because(FAILOVER, 'A6', 'E47'),
  ...because(OTHERS, 'A8', 'A10', 'E42', 'E51', 'E66', 'E67', 'E68', 'E69', 'E70'),
  ...because(PARTITIONS, 'E1', 'E2', 'E8', 'E27', 'E28', 'E29', 'E30', 'E44', 'E45'),
  ...because(CLIENT, 'E3', 'E4', 'E24', 'E26', 'E36'),
  ...because('A2 asks it.', 'E9'),
  ...because('The client checks ids itself; what the gateway does behind it needs requests of another client.', 'E38'),
  ...because('A batch that takes five seconds can’t be made to.', 'E46'),
  ...because(HUBS, 'H1', 'H3', 'H4', 'H5', 'H6', 'H7', 'H8', 'H10'),
  ...because(PLATFORM, 'F4', 'F5', 'F6', 'F7', 'F10', 'F12', 'F15', 'F16', 'H9', 'H11', 'H12'),
  ...because(HOST, 'F1', 'F2', 'F11'),
  ...because('It was tried with the Node worker.', 'F3'),
  ...because('The client drops the field; the .NET client was read instead.', 'E65'),
  ...because('It is about BullMQ, and `test/jobs` shows it on Redis.', 'A17'),
  ...because('It needs an Azure Managed Redis.', 'F8'),
  ...because('azd does it at a deployment.', 'F9', 'F13'),
]);
