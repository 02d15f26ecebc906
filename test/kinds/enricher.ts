// Somebody else writes into the same documents, and hosts leave out what brings nothing but that.
import { expect } from 'vitest';
import type { Doc, SourceRef } from '../../src/pipeline/specs.ts';
import type { Runner } from '../../src/kinds/runner.ts';
import { leavingOutUnchanged } from '../../src/kinds/unchanged.ts';
import type { Random } from '../support/random.ts';
import { type World, historiesOr } from './world.ts';

/** Before each write it writes `v` beside it, late and twice; and content that was there before comes back. */
export function withEnricher(world: World, random: Random): World {
  const before: { container: string; key: string; documents: readonly Doc[] }[] = [];
  const enriched = (doc: Doc): Doc => ({ ...doc, v: random.int(1_000) });
  return {
    ...world,
    write: async (container, key, documents) => {
      for (let times = random.int(3); times > 0; times--) {
        const [again] = before.slice(random.chance(0.7) ? -1 : random.int(Math.max(1, before.length)));
        if (again) await world.write(again.container, again.key, again.documents.map(enriched));
      }
      await world.write(container, key, documents);
      before.push({ container, key, documents });
    },
  };
}

/** Runners that don't get what brings nothing but the fields that `unread` says. */
export function leavingOut(unread: (of: SourceRef) => readonly string[]) {
  let got = 0;
  let due = 0;
  const runner = (inner: Runner): Runner => {
    const counted: Runner = { ...inner, apply: (some, access) => ((due += some.length), inner.apply(some, access)) };
    const outer = leavingOutUnchanged(counted, unread, () => '');
    return { ...outer, apply: (some, access) => ((got += some.length), outer.apply(some, access)) };
  };
  return {
    runner,
    /** A dozen histories may have none: by the latest feed they leave out two or three. */
    expectSome: () => expect(got - due, 'versions left out').toBeGreaterThan(historiesOr(12) < 100 ? -1 : 0),
  };
}
