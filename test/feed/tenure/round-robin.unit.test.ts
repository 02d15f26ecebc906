import { expect, it } from 'vitest';
import { RoundRobin } from '../../../src/feed/tenure/round-robin.ts';

const taken = (turns: RoundRobin<string>): string[] => [...turns.all()];

it('a round robin takes one of each tenant, and those of one tenant in their order', () => {
  const turns = new RoundRobin<string>();
  for (const thing of ['a1', 'a2', 'a3', 'b1', 'a4', 'c1', 'c2']) turns.add(thing[0], thing);
  expect(taken(turns)).toEqual(['a1', 'b1', 'c1', 'a2', 'c2', 'a3', 'a4']);
});

it('a round robin gives a tenant that comes later its turn after one of each other', () => {
  const turns = new RoundRobin<string>();
  for (const thing of ['a1', 'a2', 'a3', 'b1', 'b2']) turns.add(thing[0], thing);
  expect([turns.next(), turns.next()]).toEqual(['a1', 'b1']);
  turns.add('c', 'c1');
  expect(taken(turns)).toEqual(['a2', 'b2', 'c1', 'a3']);
});

it('a round robin keeps the order of things without a tenant', () => {
  const turns = new RoundRobin<string>();
  for (const thing of ['1', '2', '3']) turns.add(undefined, thing);
  expect(taken(turns)).toEqual(['1', '2', '3']);
  expect(turns.next()).toBeUndefined();
});
