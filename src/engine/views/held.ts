// What must wait: changes that a version needs which this pipeline lacks, which is being promoted, or whose projection is paused.
import { MillraceError } from '../../base/errors.ts';
import { same } from '../../pipeline/declaration.ts';
import { type SourceRef, projectionId } from '../../pipeline/specs.ts';
import { ENGINE_ERRORS } from '../errors.ts';
import { isKept } from './kept.ts';
import { NO_VIEW, type ViewsByName } from './views.ts';

/** A page must wait. It is read again later, so that no change is lost. */
export class ViewsHeld extends MillraceError<'projection-held'> {
  constructor(why: string, hint: string) {
    super('projection-held', why, { ...ENGINE_ERRORS['projection-held'], hint });
  }
}

/** The error if a name is paused; else undefined. */
export function pausedBy(views: ViewsByName, name: string): ViewsHeld | undefined {
  const paused = views[name]?.paused;
  if (!paused) return undefined;
  const why = `${name} is paused since ${paused.since} by ${paused.by}${paused.reason ? `: ${paused.reason}` : ''}`;
  return new ViewsHeld(why, `Run \`millrace projections resume ${name}\` to continue.`);
}

/** What to do where a pipeline that declares `known` lacks the current version. */
export function undeclaredHint(name: string, views: ViewsByName, known: ReadonlySet<string>, now: number): string {
  const { current, previous } = views[name] ?? NO_VIEW;
  const deploy = `Deploy the code that declares version ${current?.version} of ${name} to this host`;
  if (![...known].some((id) => id.startsWith(`${name}@`)))
    return `${deploy}. If ${name} was taken out of the pipeline for good, run \`millrace projections drop ${name}\`.`;
  const back = isKept(previous, now) ? `, or go back with \`millrace projections promote ${name} --back\`` : '';
  return `${deploy}${back}. Nothing is lost meanwhile.`;
}

/** The error if changes of a type must not be applied now; else undefined. */
export function viewHeldBy(
  views: ViewsByName,
  of: SourceRef,
  known: ReadonlySet<string>,
  now: number,
): ViewsHeld | undefined {
  const reads = (what: { readonly reads?: readonly SourceRef[] } | null): boolean =>
    what?.reads?.some((one) => same(one, of)) ?? false;
  const isFrozen = (what: { readonly frozenUntil?: string } | null): boolean =>
    now < Date.parse(what?.frozenUntil ?? '');
  for (const [name, { current, staged, previous, paused }] of Object.entries(views)) {
    if (paused && (reads(current) || reads(paused))) return pausedBy(views, name);
    for (const next of [staged?.phase === 'frozen' ? staged : null, previous])
      if (next && isFrozen(next) && (reads(current) || reads(next)))
        return new ViewsHeld(`${name}@${next.version} is being promoted`, 'Wait: a promotion takes some seconds.');
    if (current && reads(current) && !known.has(projectionId({ name, version: current.version }))) {
      const why = `${name}@${current.version} is current, and this pipeline does not declare it`;
      return new ViewsHeld(why, undeclaredHint(name, views, known, now));
    }
  }
  return undefined;
}
