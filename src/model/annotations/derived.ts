// What all annotations together say of data that follow from other data.
import type { Place } from '../model.ts';
import { type Annotation, type Annotations, fieldOf, same, sameField } from './annotations.ts';
import { listed } from './merged.ts';

type Raw = Annotation<'derived'>;
export type Form = Raw['form'];

/** One derived value, with what all its places say. */
export interface Derived {
  readonly name: string;
  readonly form: Raw['form'];
  readonly type: string | undefined;
  readonly field: string | undefined;
  readonly of: string | undefined;
  readonly keptBy: ReadonlySet<NonNullable<Raw['keptBy']>>;
  readonly onRepeat: boolean;
  readonly onDelete: boolean;
  readonly snapshot: boolean;
  readonly places: readonly { readonly at: Place }[];
}

const nameOf = ({ type, field, what }: Raw): string =>
  type !== undefined && field !== undefined ? `${type}.${fieldOf(field)}` : what;

/** Each value once. What is said of a whole type is said of its fields. */
export function derivedIn(annotations: Annotations): Derived[] {
  const groups = Map.groupBy(annotations.of('derived'), (one) => `${one.form} ${nameOf(one).toLowerCase()}`);
  return [...groups.values()].flatMap((places): Derived[] => {
    const [first] = places;
    if (!first) return [];
    const whole = annotations
      .of('derived')
      .filter(
        (one) =>
          (first.field !== undefined &&
            one.field === undefined &&
            one.type !== undefined &&
            same(one.type, first.type)) ||
          (first.field !== undefined &&
            one.field !== undefined &&
            same(one.type, first.type) &&
            sameField(one.field, first.field)),
      );
    const all = [...places, ...whole];
    return [
      {
        name: nameOf(first),
        form: first.form,
        type: first.type,
        field: first.field === undefined ? undefined : fieldOf(first.field),
        of: places.find(({ of }) => of !== undefined)?.of,
        keptBy: new Set(all.flatMap(({ keptBy }) => keptBy ?? [])),
        onRepeat: all.some(({ onRepeat }) => onRepeat !== undefined),
        onDelete: all.some(({ onDelete }) => onDelete !== undefined),
        snapshot: all.some(({ snapshot }) => snapshot === true),
        places,
      },
    ];
  });
}

/** Words that say what makes a repetition harmless. */
export const HARMLESS =
  /exactly[- ]once|idempotent|\bmarkers?\b|\bcontributions?\b|already (?:counted|applied|processed)|re-?count|taken back|subtract|(?:twice|again) (?:changes|counts|does) nothing/i;

/** Words that say that what is deleted is taken out again. */
export const RETRACTED = /taken (?:back|out)|subtract|retract|decrement|\bcontributions?\b|tombstone/i;

/** Whether the lines of these places have the words. */
export const isSaidBeside = (
  { lines }: Annotations,
  places: readonly { readonly at: Place }[],
  words: RegExp,
): boolean => places.some(({ at }) => words.test(lines[at.line - 1] ?? ''));

export const namesOf = (all: readonly Derived[]): string => listed(all.map(({ name }) => name));

export const plural = (all: readonly unknown[], one: string, several: string): string =>
  all.length === 1 ? one : several;

/** Whether any place shows that documents of the type go for good. */
export function isRemoved(annotations: Annotations, type: string | undefined): boolean {
  if (type === undefined) return false;
  const container = annotations.containerOf({ type });
  return (
    annotations.of('deletion').some((one) => same(one.type, type) && one.way === 'hard') ||
    annotations.of('access').some((one) => one.operation === 'delete' && same(one.type, type)) ||
    annotations
      .of('flow')
      .some(({ steps }) => steps.some((step) => step.operation === 'delete' && same(step.type, type))) ||
    annotations.of('container').some((one) => same(one.container, container) && typeof one.ttl === 'number')
  );
}
