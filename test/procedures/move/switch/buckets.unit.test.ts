import { expect, it } from 'vitest';
import { Buckets } from '../../../../src/procedures/move/switch/buckets.ts';
import { Random } from '../../../support/random.ts';
import { suiteSeed } from '../../../support/seed.ts';

const SEED = suiteSeed();

/** Each side as places with their versions. */
function bucketsOf(...sides: readonly ReadonlyMap<string, string>[]): Buckets {
  const buckets = new Buckets();
  for (const side of sides) for (const [place, version] of side) buckets.add(place, `${place} ${version}`);
  return buckets;
}

it(`two sides are the same whatever the order, and what differs is found (seed ${SEED})`, () => {
  const random = new Random(SEED);
  for (let round = 0; round < 6; round++) {
    const places = Array.from({ length: 300 }, (_, n) => `[1],o${n}`);
    const source = new Map(places.map((place) => [place, `${random.int(9)}`]));
    const target = new Map([...source].toReversed());
    expect(bucketsOf(source, target).areSame).toBe(true);
    const [gone, changed, added] = [random.pick(places), random.pick(places), `new ${round}`];
    const change = round % 3;
    if (change === 0) target.delete(gone);
    else if (change === 1) target.set(changed, 'another');
    else target.set(added, '1');
    const buckets = bucketsOf(source, target);
    expect(buckets.areSame).toBe(false);
    expect(buckets.differs([gone, changed, added][change]!)).toBe(true);
    // Few others share its bucket, so little is kept in memory.
    expect(places.filter((place) => buckets.differs(place)).length).toBeLessThan(10);
  }
});
