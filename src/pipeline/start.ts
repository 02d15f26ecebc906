import { parseDate } from './date.ts';
import { error } from './declaration.ts';
import { KIND_FACTS } from './kind-facts.ts';
import type { DerivedSpec, Finding, StartSpec } from './specs.ts';

/** What a declaration takes: also a Date, or a date without a time. */
export type StartOption = StartSpec | Date;

/** The kinds that may begin later than the beginning: what they have done can't be recomputed, or is their own. */
export type Startable = Extract<DerivedSpec, { readonly start?: StartSpec }>;

export const isStartable = (spec: DerivedSpec): spec is Startable => KIND_FACTS[spec.kind].start !== undefined;

export const startOf = (spec: DerivedSpec): StartSpec =>
  (isStartable(spec) ? spec.start : undefined) ?? KIND_FACTS[spec.kind].start ?? 'beginning';

/** The option as the spec holds it, with its findings. `given`: of any type, because a declaration may be plain JavaScript. */
export function startFields(
  name: string,
  given: unknown,
): { readonly start?: StartSpec; readonly findings: readonly Finding[] } {
  if (given === undefined) return { findings: [] };
  if (given === 'beginning' || given === 'now') return { start: given, findings: [] };
  const ms = given instanceof Date ? given.getTime() : typeof given === 'string' ? parseDate(given) : undefined;
  if (ms !== undefined && Number.isFinite(ms)) return { start: new Date(ms).toISOString() as StartSpec, findings: [] };
  const hint = 'Write beginning, now or a time such as 2026-06-03T12:00:00Z.';
  return {
    findings: [error('start', `Projection ${name} has start ${JSON.stringify(given)}, which isn't valid`, hint)],
  };
}
