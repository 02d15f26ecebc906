// What is true of a kind of projection wherever one is declared: one entry for each kind. What depends on a declaration is in
// the builder (`builders/`), what it does with changes in its runner (`kinds/`).
import type { DerivedSpec, EffectSpec, ProjectionSpec, ReactSpec, ReplayedSpec, StartSpec } from './specs.ts';

interface KindFacts {
  /** The list of a pipeline that has its declarations. */
  readonly list: 'projections' | 'embeds' | 'effects' | 'archives' | 'publishes';
  /**
   * Where it begins unless the declaration says it. Absent: always at the beginning, because its sink has to hold what there
   * is. Calls and events can't be taken back, so they begin now.
   */
  readonly start?: StartSpec;
  /**
   * RU to read a change and write what is derived from it, by docs/benchmarks.md (BENCH-B2 to BENCH-B4), rounded up. A custom
   * runner is taken for a copy; what is written outside of the account costs none. Absent: it can't get changes again.
   */
  readonly replayRu?: number;
  /** Why `projections verify` doesn't compare it, or not one that gives nothing to compare. Absent: it compares each. */
  readonly unverified?: string;
}

export const KIND_FACTS: Readonly<Record<DerivedSpec['kind'], KindFacts>> = {
  copy: { list: 'projections', replayRu: 15 },
  aggregate: { list: 'projections', replayRu: 16 },
  reference: { list: 'projections', replayRu: 15 },
  embed: { list: 'embeds', replayRu: 25 },
  react: { list: 'effects', start: 'now', unverified: 'not compared: a call leaves no data to read' },
  send: {
    list: 'effects',
    start: 'beginning',
    replayRu: 1,
    unverified: 'not compared: its sink does not declare `rows`, so Millrace can’t read its content',
  },
  table: { list: 'effects', replayRu: 1, unverified: 'not compared: no database is opened' },
  custom: {
    list: 'effects',
    start: 'beginning',
    replayRu: 15,
    unverified: 'not compared: Millrace does not know what its runner writes',
  },
  publish: {
    list: 'publishes',
    start: 'now',
    replayRu: 1,
    unverified: 'not compared: an event hub keeps events only for its retention',
  },
  archive: { list: 'archives', unverified: 'compared by `millrace archive verify`' },
};

export const isEffect = (spec: { readonly kind: string }): spec is EffectSpec =>
  KIND_FACTS[spec.kind as DerivedSpec['kind']]?.list === 'effects';

/** It has versions, each a set of whole documents. */
export const isProjection = (spec: { readonly kind: string }): spec is ProjectionSpec =>
  KIND_FACTS[spec.kind as DerivedSpec['kind']]?.list === 'projections';

export const isReplayed = (spec: DerivedSpec): spec is Exclude<ReplayedSpec, ReactSpec> =>
  KIND_FACTS[spec.kind].replayRu !== undefined;

/** RU to apply one document again. */
export const ruOfReplay = ({ kind }: ReplayedSpec): number => KIND_FACTS[kind].replayRu ?? 0;

/** A call or an event: it was made for what changed, and can't be taken back. */
export const startsNow = ({ kind }: Pick<DerivedSpec, 'kind'>): boolean => KIND_FACTS[kind].start === 'now';
