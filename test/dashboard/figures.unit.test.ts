import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Figures {
  hostsOf(status: object): { owner: string; leases: number }[];
  rangesOf(status: object): object[];
  appliedBy(status: object): Map<string, number>;
  costsOf(status: object): Map<string, number>;
  lagOf(status: object, container?: string): object | null;
  sourcesOf(status: object): object[];
  tenantsOf(status: object): object[];
  feedsOf(status: object): { verdict: { word: string; seconds: number | null } }[];
  Speeds: new () => {
    add(at: number, status: object): void;
    of(projection: string): number | null;
    reading(container?: string, lease?: string): number | null;
  };
  History: new () => { add(at: number, status: object, speed: number | null): (number | null)[][] };
}
// A module of the page: it has no types.
const figures = (await import(join(import.meta.dirname, '../../src/dashboard/page/figures.js'))) as Figures;

const host = (owner: string, startedAt: string, at: string, changes: number, ruPerChange = 0) => ({
  owner,
  leases: 2,
  status: {
    startedAt,
    at,
    ranges: [{ container: 'Orders', lease: '0' }],
    projections: [{ projection: 'days@1', changes, ruPerChange }],
  },
});

it('the dashboard counts a process once that reports itself to several places, by its last report', () => {
  const status = {
    places: [
      { place: 'a', value: { hosts: [host('dev', '10:00', '10:05', 7), host('other', '10:01', '10:05', 1)] } },
      { place: 'b', value: { hosts: [host('dev', '10:00', '10:06', 9)] } },
      { place: 'c', failure: 'it does not answer' },
    ],
  };
  expect(figures.hostsOf(status)).toMatchObject([
    { owner: 'dev', leases: 4 },
    { owner: 'other', leases: 2 },
  ]);
  expect(figures.rangesOf(status)).toHaveLength(2);
  expect(figures.appliedBy(status)).toEqual(new Map([['days@1', 10]]));
});

it('the dashboard counts processes of one name apart, such as one that was started again', () => {
  const status = { hosts: [host('dev', '10:00', '10:05', 7), host('dev', '11:00', '11:05', 1)] };
  expect(figures.appliedBy(status)).toEqual(new Map([['days@1', 8]]));
});

it('the dashboard means the cost of a change over all that hosts applied, and knows none of a host that applied nothing', () => {
  const status = {
    places: [
      { place: 'a', value: { hosts: [host('one', '10:00', '10:05', 30, 10), host('two', '10:00', '10:05', 10, 30)] } },
      { place: 'b', value: { hosts: [host('one', '10:00', '10:05', 30, 10), host('new', '10:04', '10:05', 0, 0)] } },
    ],
  };
  expect(figures.costsOf(status)).toEqual(new Map([['days@1', 15]]));
  expect(figures.costsOf({ hosts: [host('new', '10:04', '10:05', 0)] })).toEqual(new Map());
});

it('the dashboard adds up the lag of a container in all places', () => {
  const lag = (changes: number, ageMs: number) => ({ known: true, changes, ageMs });
  const sources = (orders: object, stores: object) => ({
    value: {
      sources: [
        { container: 'Orders', lag: orders },
        { container: 'Stores', lag: stores },
      ],
    },
  });
  const status = { places: [sources(lag(3, 50), lag(1, 10)), sources(lag(4, 20), { known: false })] };
  expect(figures.lagOf(status, 'Orders')).toEqual(lag(7, 50));
  expect(figures.lagOf(status, 'Stores')).toBeNull();
  expect(figures.lagOf(status)).toBeNull();
});

it('the dashboard has what shards read of the global place among the sources, as hosts report its ranges', () => {
  const reading = (owner: string, ...ranges: [container: string, lease: string, lag: number | null][]) => {
    const of = host(owner, '10:00', '10:05', 1);
    return {
      ...of,
      status: { ...of.status, ranges: ranges.map(([container, lease, lag]) => ({ container, lease, lag })) },
    };
  };
  const own = { container: 'Orders', leases: 1, lag: { known: true, changes: 2, ageMs: 50 }, troubled: [] };
  const status = (left: number | null) => ({
    places: [
      {
        place: 'west',
        value: { sources: [own], hosts: [reading('one', ['west/Orders', '0', 2], ['west/Countries', '0', 3])] },
      },
      { place: 'east', value: { sources: [], hosts: [reading('two', ['west/Countries', '1', left])] } },
    ],
  });
  expect(figures.sourcesOf(status(4))).toMatchObject([
    { name: 'west/Orders', leases: 1 },
    { name: 'west/Countries', container: 'Countries', leases: 2, lag: { known: true, changes: 7, ageMs: null } },
  ]);
  expect(figures.lagOf(status(4), 'Countries')).toEqual({ known: true, changes: 7, ageMs: null });
  expect(figures.lagOf(status(null), 'Countries')).toBeNull();
  expect(figures.sourcesOf({ sources: [own], hosts: [reading('one', ['Orders', '0', 2])] })).toHaveLength(1);
});

it('the dashboard adds up what hosts report of a tenant once for each process, and its dead letters in each place', () => {
  const reported = (owner: string, charge: number) => {
    const of = host(owner, '10:00', '10:05', 1);
    return { ...of, status: { ...of.status, tenants: { tenants: [{ tenant: 's1', changes: 2, charge }] } } };
  };
  const value = (hosts: object[], deadLetters: number) => ({
    value: { hosts, tenants: { tenants: [{ tenant: 's1', changes: 9, charge: 9, deadLetters }] } },
  });
  // The process `one` hosts both places, and reports to both.
  const both = reported('one', 30);
  const status = { places: [value([both], 1), value([both, reported('two', 5)], 2)] };
  expect(figures.tenantsOf(status)).toEqual([{ tenant: 's1', changes: 4, charge: 35, deadLetters: 3 }]);
});

const reports = (at: number, changes: number, handled: readonly number[], history: readonly unknown[] = []) => ({
  owner: 'one',
  leases: 2,
  status: {
    startedAt: '10:00',
    at: new Date(at).toISOString(),
    history,
    projections: [{ projection: 'days@1', changes, ruPerChange: 1 }],
    ranges: handled.map((of, lease) => ({
      container: lease < 2 ? 'Orders' : 'Stores',
      lease: `${lease}`,
      handled: of,
    })),
  },
});

it('a rate is between two reports of a host, however often a page looks, and none of a host that is silent', () => {
  const speeds = new figures.Speeds();
  const half = 30_000;
  speeds.add(0, { hosts: [reports(0, 0, [0, 0, 0])] });
  expect(speeds.reading()).toBeNull();
  speeds.add(half, { hosts: [reports(half, 300, [60, 90, 30])] });
  const now = () => [
    speeds.reading(),
    speeds.reading('Orders'),
    speeds.reading('Orders', '1'),
    speeds.reading('Stores'),
    speeds.of('days@1'),
  ];
  expect(now()).toEqual([6, 5, 3, 1, 10]);
  speeds.add(half + 5_000, { hosts: [reports(half, 300, [60, 90, 30])] });
  expect(now()).toEqual([6, 5, 3, 1, 10]);
  speeds.add(half + 121_000, { hosts: [reports(half, 300, [60, 90, 30])] });
  expect(speeds.reading()).toBeNull();
});

it('an hour of history is what hosts kept before the page looked, and then what it saw; a gap breaks the line', () => {
  const history = new figures.History();
  const lag = { known: true, changes: 7, ageMs: 0 };
  const now = 7_200_000;
  const at = (second: number) => now / 1_000 - second;
  const kept = [
    [at(4_000), 99, 99],
    [at(600), 2, 3],
    [at(540), 4, null],
    [at(60), 6, 1],
  ];
  const status = {
    sources: [{ container: 'Orders', lag }],
    hosts: [reports(now, 0, [0], kept), { ...reports(now, 0, [0], [[at(590), 1, 1]]), owner: 'two' }],
  };
  const floor = (second: number) => Math.floor(second / 60) * 60;
  expect(history.add(now, status, 5)).toEqual([
    [floor(at(600)), floor(at(540)), floor(at(540)) + 1, floor(at(60)), now / 1_000],
    [3, 4, null, 6, 5],
    [4, null, null, 1, 7],
  ]);
  // It was away for ten minutes: of these the host knows.
  const [times] = history.add(
    now + 600_000,
    { ...status, hosts: [reports(now, 0, [0], [...kept, [at(-300), 1, 1]])] },
    5,
  );
  expect(times?.slice(-3)).toEqual([floor(at(-300)), floor(at(-300)) + 1, at(-600)]);
});

it.each([
  ['nothing is left, though less went out than came in', { changes: 0, ageMs: 0 }, ['never'], 'current', 0],
  ['what is left has waited a moment', { changes: 973, ageMs: 3_000 }, ['never'], 'current', 0],
  [
    'what is left is old, and one range never ends',
    { changes: 973, ageMs: 60_000 },
    [5, 'never'],
    'falls behind',
    Infinity,
  ],
  ['all ranges come to an end', { changes: 973, ageMs: 60_000 }, [5, 70], 'current in 1\u00a0min 10\u00a0s', 70],
  ['no range has a rate yet', { changes: 973, ageMs: null }, [null], 'behind', null],
])('a feed has one verdict: %s', (_, lag, catchUps, word, seconds) => {
  const { status, ...rest } = reports(0, 0, [0, 0]);
  const ranges = catchUps.map((catchUp, at) => ({ container: 'Orders', lease: `${at}`, catchUp }));
  const feeds = figures.feedsOf({
    sources: [{ container: 'Orders', lag: { known: true, ...lag }, troubled: [] }],
    hosts: [{ ...rest, status: { ...status, ranges } }],
  });
  expect(feeds).toMatchObject([{ verdict: { word, seconds } }]);
});
