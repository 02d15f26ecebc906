import { LRUCache } from 'lru-cache';
import { digest } from '../base/json.ts';
import { withoutPaths } from '../pipeline/fields/ignored.ts';
import type { SourceRef } from '../pipeline/specs.ts';
import type { Change } from '../feed/reading/change.ts';
import { type Runner, placeText } from './runner.ts';
import { outrunIn } from './standing.ts';

/** Documents that a tenure remembers, for each projection. */
const REMEMBERED = 20_000;

interface Memory {
  readonly trusted: unknown;
  /** By document: a digest of the content that this tenure has applied, completely and last. */
  readonly applied: LRUCache<string, string>;
}

/**
 * Leaves out versions that differ in ignored fields alone from what the same tenure has applied last (ECHO-R10). No other
 * memory may decide it: a digest in the sink, or one of another tenure, may be of a version that was never applied to its
 * end. `ignored`: the fields that the projection doesn't read. `trusted`: something that changes when another process may
 * have written for the projection; undefined while one does.
 */
export function leavingOutUnchanged(
  runner: Runner,
  ignored: (of: SourceRef) => readonly string[],
  trusted: () => unknown,
): Runner {
  const tenures = new WeakMap<object, Memory>();
  const memoryOf = (tenure: object): Memory['applied'] | undefined => {
    const now = trusted();
    const known = tenures.get(tenure);
    if (known && known.trusted === now && now !== undefined) return known.applied;
    tenures.delete(tenure);
    if (now === undefined) return undefined;
    const applied = new LRUCache<string, string>({ max: REMEMBERED });
    tenures.set(tenure, { trusted: now, applied });
    return applied;
  };
  const contentOf = ({ op, doc = {}, gone, failed, ...of }: Change): string | undefined => {
    const paths = ignored(of);
    return paths.length === 0 || failed !== undefined ? undefined : digest([op, gone, withoutPaths(doc, paths)]);
  };
  return {
    ...runner,
    apply: async (changes, access) => {
      // Under Functions a batch is a tenure, and nothing says that no other host writes.
      const memory = access.fence.kind === 'lease' ? memoryOf(access.fence.tenure) : undefined;
      if (!memory) return runner.apply(changes, access);
      const same = new Set<string>();
      const last = new Map<string, string | undefined>();
      for (const [place, versions] of Map.groupBy(changes, placeText)) {
        const contents = new Set(versions.map(contentOf));
        const content = contents.size === 1 ? [...contents][0] : undefined;
        if (content !== undefined && memory.get(place) === content) same.add(place);
        // Until the last write of a version is done, nothing is known of its document.
        else memory.delete(place);
        last.set(place, versions.map(contentOf).at(-1));
      }
      const due = same.size === 0 ? changes : changes.filter((change) => !same.has(placeText(change)));
      if (due.length === 0) return;
      const { tenure } = access.fence;
      const before = outrunIn(tenure);
      await runner.apply(due, access);
      // Of an older version it wrote nothing, and the process that began the newer one may have died before its last write.
      if (outrunIn(tenure) !== before) return;
      for (const [place, content] of last) if (content !== undefined) memory.set(place, content);
    },
  };
}
