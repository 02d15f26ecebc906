import { join } from 'node:path';
import { expect, it } from 'vitest';

interface Figures {
  hostsOf(status: object): { owner: string; leases: number }[];
  rangesOf(status: object): object[];
  appliedBy(status: object): Map<string, number>;
}
// A module of the page: it has no types.
const figures = (await import(join(import.meta.dirname, '../../src/dashboard/page/figures.js'))) as Figures;

const host = (owner: string, startedAt: string, at: string, changes: number) => ({
  owner,
  leases: 2,
  status: {
    startedAt,
    at,
    ranges: [{ container: 'Orders', lease: '0' }],
    projections: [{ projection: 'days@1', changes }],
  },
});

it('counts a process once that reports itself to several places, by its last report', () => {
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

it('counts processes of one name apart, such as one that was started again', () => {
  const status = { hosts: [host('dev', '10:00', '10:05', 7), host('dev', '11:00', '11:05', 1)] };
  expect(figures.appliedBy(status)).toEqual(new Map([['days@1', 8]]));
});
