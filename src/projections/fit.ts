import { emit } from '../base/diagnostics.ts';
import type { ObjectShape } from '../model/types/shape.ts';
import type { Change } from '../feed/reading/change.ts';
import { misfitsOf, notOfType, notStorable } from './sink-type.ts';

export interface FitOptions {
  /** Of the sink's documents, by the model. */
  readonly shape?: ObjectShape | undefined;
  /**
   * Whether what is of another type than the model says is parked: of a version that was first applied when that was done
   * already. Of earlier ones it is counted, since an upgrade must not stop what ran. Absent: it is parked.
   */
  readonly strict?: ((projection: string) => Promise<boolean>) | undefined;
}

/** Judges a document before it is stored. @throws MillraceError `value-not-storable`, `value-of-other-type` */
export type Fit = (change: Change, document: object, except?: ReadonlySet<string>) => void;

/** Asked once a page: a version is strict, or isn't, for all its life. */
export async function fitOf(projection: string, { shape, strict }: FitOptions): Promise<Fit> {
  const parks = (await strict?.(projection)) ?? true;
  return ({ container, id }, document, except) => {
    const { never, type } = misfitsOf(document, shape, except);
    if (never) throw notStorable(projection, never);
    if (type && parks) throw notOfType(projection, type);
    if (type) emit('projection:misfit', { projection, container, id, ...type });
  };
}
