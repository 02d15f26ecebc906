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
  ...because(NO_PROOF, 'ASM-A3', 'ASM-A11', 'ASM-E7', 'ASM-E64', 'ASM-E72', 'ASM-E83', 'ASM-H2'),
  ...because(FAILOVER, 'ASM-A6', 'ASM-E47', 'ASM-E76', 'ASM-E77', 'ASM-E78'),
  ...because(OTHERS, 'ASM-A8', 'ASM-A10', 'ASM-E42', 'ASM-E51', 'ASM-E66', 'ASM-E67', 'ASM-E68', 'ASM-E69', 'ASM-E70'),
  ...because(
    PARTITIONS,
    'ASM-E1',
    'ASM-E2',
    'ASM-E8',
    'ASM-E27',
    'ASM-E28',
    'ASM-E29',
    'ASM-E30',
    'ASM-E44',
    'ASM-E45',
    'ASM-E71',
    'ASM-E74',
    'ASM-E75',
  ),
  ...because(
    CLIENT,
    'ASM-E3',
    'ASM-E4',
    'ASM-E24',
    'ASM-E26',
    'ASM-E36',
    'ASM-E73',
    'ASM-E81',
    'ASM-E82',
    'ASM-E87',
    'ASM-E88',
    'ASM-E90',
  ),
  ...because('Nothing depends on it: the map says which shard has a key.', 'ASM-E91'),
  ...because('It is a limit or a minimum of an account, for guidance only.', 'ASM-E97', 'ASM-E98'),
  ...because('Nothing but speed depends on it.', 'ASM-E93'),
  ...because('It takes an identity and two accounts.', 'ASM-E94'),
  ...because('It is a preview, and only a comparison that never chooses it rests on it.', 'ASM-E99'),
  ...because('Nothing but the estimates of RU depends on it.', 'ASM-E120'),
  ...because('A race of two batches can’t be made to happen.', 'ASM-E96'),
  ...because(
    'No code relies on it; a rule of the model’s check does.',
    'ASM-E102',
    'ASM-E110',
    'ASM-E112',
    'ASM-E118',
    'ASM-E119',
    'ASM-E121',
    'ASM-E130',
    'ASM-E131',
    'ASM-E132',
    'ASM-E133',
    'ASM-E135',
    'ASM-E136',
    'ASM-E141',
    'ASM-E143',
    'ASM-E156',
    'ASM-E168',
  ),
  ...because('ASM-A2 asks it.', 'ASM-E9'),
  ...because(
    'The client checks ids itself; what the gateway does behind it needs requests of another client.',
    'ASM-E38',
  ),
  ...because('A batch that takes five seconds can’t be made to.', 'ASM-E46'),
  ...because(HUBS, 'ASM-H1', 'ASM-H3', 'ASM-H4', 'ASM-H5', 'ASM-H6', 'ASM-H7', 'ASM-H8', 'ASM-H10'),
  ...because(
    PLATFORM,
    'ASM-F4',
    'ASM-F5',
    'ASM-F6',
    'ASM-F7',
    'ASM-F10',
    'ASM-F12',
    'ASM-F15',
    'ASM-F16',
    'ASM-H9',
    'ASM-H11',
    'ASM-H12',
  ),
  ...because(
    'The tests ask a PostgreSQL server of their own.',
    'ASM-H13',
    'ASM-H14',
    'ASM-H15',
    'ASM-H44',
    'ASM-H45',
    'ASM-H16',
    'ASM-H17',
    'ASM-H18',
    'ASM-H25',
  ),
  ...because(
    'It needs a PostgreSQL elastic cluster.',
    'ASM-H19',
    'ASM-H20',
    'ASM-H21',
    'ASM-H22',
    'ASM-H23',
    'ASM-H24',
    'ASM-A28',
  ),
  ...because(
    'It takes a cluster with Citus, which no target of the probes is.',
    'ASM-H30',
    'ASM-H31',
    'ASM-H32',
    'ASM-H33',
    'ASM-H34',
    'ASM-H35',
    'ASM-H36',
    'ASM-H43',
  ),
  ...because(HOST, 'ASM-F1', 'ASM-F2', 'ASM-F11'),
  ...because('Its parts are a preview, which an account must first be enrolled in.', 'ASM-F18', 'ASM-F19', 'ASM-A22'),
  ...because('It was tried with the Node worker.', 'ASM-F3'),
  ...because('The client drops the field; the .NET client was read instead.', 'ASM-E65'),
  ...because('It is about BullMQ, and `test/jobs` shows it on Redis.', 'ASM-A17'),
  ...because('It needs a browser, a function app and an Entra application.', 'ASM-A34'),
  ...because('It needs an Azure Managed Redis.', 'ASM-F8'),
  ...because('azd does it at a deployment.', 'ASM-F9', 'ASM-F13'),
  ...because(
    'It needs a storage account with versioning and immutable storage.',
    'ASM-E113',
    'ASM-H40',
    'ASM-H41',
    'ASM-H69',
    'ASM-F26',
    'ASM-F27',
    'ASM-F28',
    'ASM-F29',
  ),
  ...because('It needs storage accounts, and hours until a blob is back.', 'ASM-H56', 'ASM-H57', 'ASM-H59'),
  ...because('A bill shows it, a month later.', 'ASM-H58'),
  ...because('It needs a link that breaks before it is attached.', 'ASM-H60'),
  ...because('It needs a package that is published.', 'ASM-H61'),
  ...because(PLATFORM, 'ASM-H66', 'ASM-H67', 'ASM-H68'),
]);
