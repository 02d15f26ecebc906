import { same } from './declaration.ts';
import type { Doc, SourceRef, SourceRules } from './specs.ts';

type Rules = Omit<SourceRules, keyof SourceRef>;

/** The rules of a type; empty if no `source()` names it. */
export const typeRules = (rules: readonly SourceRules[], of: SourceRef): Rules =>
  rules.find((rule) => same(rule, of)) ?? {};

/** Whether a stored document is of a type, by the type's own discriminator. */
export function isOfType(type: string, { discriminator = 'type' }: Rules, stored: Doc): boolean {
  return typeof discriminator === 'string' ? stored[discriminator] === type : discriminator(stored);
}

/** Rules that recognise the same types, and leave every document as it is stored. */
export const asStored = (rules: readonly SourceRules[]): SourceRules[] =>
  rules.map(({ container, type, discriminator, feed }) => ({
    container,
    type,
    ...(discriminator !== undefined && { discriminator }),
    ...(feed && { feed }),
  }));
