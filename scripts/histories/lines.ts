// The random tests with long forms, and how many histories a release needs of each.
import { NO_POSTGRES } from '../../test/support/postgres.ts';

export interface Line {
  readonly kind: string;
  readonly mode: string;
  readonly file: string;
  /** A part of the test's name; without it the file's only test. */
  readonly test?: string;
  /** What MILLRACE_HISTORIES is over all pieces. */
  readonly histories: number;
}

const AGGREGATES = { kind: 'aggregate', file: 'test/kinds/aggregates.model.test.ts', histories: 5_000 };
const COPIES = { kind: 'copy', file: 'test/kinds/copies.model.test.ts', histories: 5_000 };
const EMBEDS = { kind: 'embed', file: 'test/kinds/embeds.model.test.ts', histories: 5_000 };
const REFERENCES = { kind: 'reference', file: 'test/kinds/references.model.test.ts', histories: 5_000 };
const PUBLISHES = { kind: 'publish', file: 'test/kinds/publishes.model.test.ts', histories: 5_000 };
const TABLES = { kind: 'table', file: 'test/kinds/tables.model.test.ts', histories: 5_000 };
const SIMULATION = { kind: 'processor', file: 'test/feed/processor.sim.model.test.ts', histories: 2_000 };
const RECORDS = { file: 'test/kinds/effects/records.model.test.ts', histories: 5_000 };
const UNCHANGED = 'test/kinds/unchanged.model.test.ts';
const EFFECTS = { file: 'test/kinds/effects.model.test.ts', histories: 5_000 };

export const LIST: readonly Line[] = [
  {
    kind: 'markdown',
    mode: 'plain blocks beside the parser',
    file: 'test/model/markdown.unit.test.ts',
    test: 'any order of lines and pieces',
    histories: 2_000,
  },
  { ...AGGREGATES, mode: 'contribution with locator', test: 'aggregate by-state' },
  { ...AGGREGATES, mode: 'several rows a document', test: 'aggregate by-product' },
  { ...AGGREGATES, mode: 'contribution, no locator', test: 'aggregate by-customer' },
  { ...AGGREGATES, mode: 'hours and days in a time zone', test: 'aggregate by-hour' },
  { ...AGGREGATES, mode: 'roll-up, best by a sum', test: 'after any history an aggregate of an aggregate' },
  { ...AGGREGATES, mode: 'all versions and deletes', test: 'read by all versions, hard deletes' },
  { ...AGGREGATES, mode: 'roll-up, all versions and deletes', test: 'read by all versions an aggregate' },
  { ...AGGREGATES, mode: 'built beside all versions', test: 'built beside all versions' },
  {
    kind: 'aggregate',
    mode: 'of all shards, while keys move',
    file: 'test/kinds/shards.model.test.ts',
    test: 'counts each document once',
    histories: 5_000,
  },
  { ...COPIES, mode: 'moving, with locator', test: 'copy by-place' },
  { ...COPIES, mode: 'joined, refreshed', test: 'copy joined' },
  { ...COPIES, mode: 'joined and moving', test: 'copy both' },
  { ...COPIES, mode: 'placed by a document that it waits for', test: 'copy following' },
  { ...COPIES, mode: 'all versions and deletes', test: 'read by all versions' },
  { ...COPIES, mode: 'built beside all versions', test: 'built beside all versions' },
  { ...EMBEDS, mode: 'fields', test: 'an embed of a field' },
  { ...EMBEDS, mode: 'elements of a list', test: 'an embed of the elements of a list' },
  { ...EMBEDS, mode: 'several parents', test: 'an embed of several parents in one' },
  { ...EMBEDS, mode: 'all versions and deletes', test: 'read by all versions' },
  { ...EMBEDS, mode: 'built beside all versions', test: 'filled beside all versions' },
  { ...REFERENCES, mode: 'every tenant', test: 'after any history' },
  { ...REFERENCES, mode: 'all versions and deletes', test: 'read by all versions' },
  { ...REFERENCES, mode: 'built beside all versions', test: 'built beside all versions' },
  { ...EFFECTS, kind: 'react', mode: 'by document', test: 'a reaction has run' },
  { ...EFFECTS, kind: 'react', mode: 'by key, in order', test: 'a reaction by key' },
  { ...EFFECTS, kind: 'react', mode: 'all versions and deletes', test: 'every version has had its reaction' },
  { ...EFFECTS, kind: 'send', mode: "a sink of one's own", test: "a sink of one's own" },
  { ...EFFECTS, kind: 'send', mode: 'all versions and deletes', test: 'a sink has the rows' },
  { ...PUBLISHES, mode: 'by key, in order', test: 'each key in its order' },
  { ...PUBLISHES, mode: 'all versions and deletes', test: 'read by all versions' },
  {
    kind: 'publish',
    mode: '22,000 changes, broken links',
    file: 'test/kinds/publish-feed.int.test.ts',
    test: 'while links break at random',
    histories: 5,
  },
  { ...EFFECTS, kind: 'custom', mode: "a runner of one's own", test: "after any history a runner of one's own" },
  { ...EFFECTS, kind: 'custom', mode: 'all versions and deletes', test: "read by all versions a runner of one's own" },
  ...[
    ['react', 'a reaction'],
    ['send', 'a sink'],
    ['custom', 'a runner'],
    ['publish', 'a publish'],
  ].flatMap(([kind = '', what = '']) => [
    { ...RECORDS, kind, mode: 'beside an enricher', test: `beside an enricher ${what}` },
    { ...RECORDS, kind, mode: 'beside an enricher, all versions', test: `read by all versions, ${what}` },
  ]),
  { kind: 'copy', mode: 'beside an enricher', file: UNCHANGED, test: 'enricher, copies', histories: 5_000 },
  {
    kind: 'copy',
    mode: 'joined, beside an enricher',
    file: UNCHANGED,
    test: 'enricher, joined copies',
    histories: 5_000,
  },
  { kind: 'aggregate', mode: 'beside an enricher', file: UNCHANGED, test: 'enricher, groups', histories: 5_000 },
  { ...REFERENCES, mode: 'beside an enricher', test: 'beside an enricher' },
  // They need a real server: where none is installed, importing `postgres.ts` has said so.
  ...(NO_POSTGRES === undefined
    ? ['tenanted', 'moving', 'plain']
        .flatMap((mode) => [
          { ...TABLES, mode, test: `after any history ${mode} tables` },
          { ...TABLES, mode: `${mode}, all versions`, test: `expiry among them, ${mode} tables` },
        ])
        .concat({
          ...TABLES,
          mode: 'of all shards, while keys move',
          file: 'test/kinds/shards-tables.model.test.ts',
          test: 'at every moment while keys move',
          histories: 1_000,
        })
    : []),
  {
    kind: 'deferred',
    mode: 'deferred and drained',
    file: 'test/engine/deferred/protocol.model.test.ts',
    test: 'what is deferred is applied',
    histories: 5_000,
  },
  { kind: 'SQL', mode: 'random queries, judged', file: 'test/sql-check/check.model.test.ts', histories: 5_000 },
  {
    kind: 'window',
    mode: 'tenants in turns',
    file: 'test/feed/tenure/window-turns.model.test.ts',
    histories: 5_000,
  },
  {
    kind: 'pipeline',
    mode: 'tenants in turns, hosts cut off',
    file: 'test/runtime/turns.model.test.ts',
    histories: 100,
  },
  { kind: 'start', mode: 'now, a time', file: 'test/engine/views/starts.model.test.ts', histories: 2_000 },
  { ...SIMULATION, mode: 'in virtual time', test: 'PROC-L1 to PROC-L12 hold' },
  {
    ...SIMULATION,
    mode: 'with changes deferred',
    test: 'they hold where changes of tenants are deferred',
    histories: 5_000,
  },
  {
    kind: 'processor',
    mode: 'on the embedded server',
    file: 'test/feed/processor.model.test.ts',
    histories: 2_000,
  },
  {
    kind: 'archive',
    mode: 'sweeps and restores',
    file: 'test/archive/archive.model.test.ts',
    test: 'hot and cold together',
    histories: 1_000,
  },
  {
    kind: 'archive',
    mode: 'all versions and expiry',
    file: 'test/archive/archive.model.test.ts',
    test: 'read by all versions',
    histories: 5_000,
  },
  {
    kind: 'archive',
    mode: 'erasure of a tenant, killed anywhere',
    file: 'test/archive/erase.model.test.ts',
    histories: 100,
  },
  {
    kind: 'archive',
    mode: 'each verb killed at work',
    file: 'test/archive/kill.e2e.test.ts',
    histories: 15,
  },
  {
    kind: 'tenant',
    mode: 'erased beside hosts, sweeps and restores, in virtual time',
    file: 'test/engine/erasures/stop.model.test.ts',
    test: 'after the certificate',
    histories: 2_000,
  },
  {
    kind: 'shard query',
    mode: 'random queries while keys move',
    file: 'test/shards/multi-shard-query.model.test.ts',
    test: 'random queries find each document once',
    histories: 5_000,
  },
  {
    kind: 'router',
    mode: 'beside two administrators',
    file: 'test/shards/router.model.test.ts',
    test: 'uses only what the map and a local map had',
    histories: 5_000,
  },
  {
    kind: 'shard query',
    mode: 'the state of all shards at one moment',
    file: 'test/shards/snapshot.model.test.ts',
    test: 'gives each key to one shard',
    histories: 5_000,
  },
  {
    kind: 'shard gate',
    mode: 'keys that move, in virtual time',
    file: 'test/shards/shard-gate.model.test.ts',
    test: 'let no key be written on two shards',
    histories: 5_000,
  },
  {
    kind: 'fence',
    mode: 'keys that move, and writers that sleep',
    file: 'test/shards/fence.model.test.ts',
    test: 'land only on the shard that has their key',
    histories: 5_000,
  },
  {
    kind: 'shard move',
    mode: 'a protocol of its own',
    file: 'test/procedures/move/move-protocol.model.test.ts',
    test: 'counted once',
    histories: 5_000,
  },
  {
    kind: 'shard move',
    mode: 'documents that are deleted without a trace',
    file: 'test/procedures/move/move-protocol.model.test.ts',
    test: 'come to life by a move',
    histories: 15_000,
  },
  {
    kind: 'shard move',
    mode: 'beside erasures, sweeps and restores, in virtual time',
    file: 'test/procedures/move/move-erase.model.test.ts',
    test: 'nothing of a tenant is left',
    histories: 5_000,
  },
  {
    kind: 'shard move',
    mode: 'real moves under writes',
    file: 'test/procedures/move/move.int.test.ts',
    test: 'there and back',
    histories: 40,
  },
  { kind: 'shard move', mode: 'SIGKILL', file: 'test/procedures/move/move-kill.e2e.test.ts', histories: 10 },
  {
    kind: 'shard move',
    mode: 'SIGKILL, beside a host of all shards',
    file: 'test/procedures/move/move-world-kill.e2e.test.ts',
    histories: 3,
  },
  { kind: 'write gate', mode: 'in virtual time', file: 'test/shards/write-gate.model.test.ts', histories: 200 },
  ...['range', 'list'].map((kind) => ({
    kind: 'shard map',
    mode: `administrators of a ${kind} map`,
    file: 'test/shards/shard-map.model.test.ts',
    test: `of kind ${kind} do what`,
    histories: 5_000,
  })),
  { kind: 'budget', mode: 'shares in virtual time', file: 'test/cosmos/budget/split.model.test.ts', histories: 1_000 },
  {
    kind: 'tenant',
    mode: 'queries',
    file: 'test/client/tenant-reader.model.test.ts',
    test: 'random queries',
    histories: 3_000,
  },
  { kind: 'server', mode: 'splits and merges', file: 'test/emulator/repartition.model.test.ts', histories: 30 },
  {
    kind: 'operation',
    mode: 'cut off at requests',
    file: 'test/procedures/rebuild/crash.model.test.ts',
    histories: 100,
  },
  {
    kind: 'operation',
    mode: 'over shards, cut off',
    file: 'test/procedures/verify/over-shards.model.test.ts',
    histories: 40,
  },
  {
    kind: 'operation',
    mode: 'recovery of a shard, cut off',
    file: 'test/procedures/recover/restored-shard.int.test.ts',
    test: 'died at any request',
    histories: 40,
  },
  { kind: 'operation', mode: 'SIGKILL', file: 'test/procedures/rebuild/kill.e2e.test.ts', histories: 50 },
  {
    kind: 'operation',
    mode: 'backfills',
    file: 'test/procedures/backfill/tenants-backfill.model.test.ts',
    histories: 100,
  },
  { kind: 'ingest', mode: 'SIGKILL', file: 'test/ingest/kill.e2e.test.ts', histories: 25 },
  { kind: 'host', mode: 'SIGKILL, SIGSTOP', file: 'test/host/kill.e2e.test.ts', histories: 8 },
  { kind: 'dev', mode: 'SIGKILL', file: 'test/host/dev-kill.e2e.test.ts', histories: 4 },
  { kind: 'archive', mode: 'SIGKILL', file: 'test/archive/kill.e2e.test.ts', histories: 20 },
];
