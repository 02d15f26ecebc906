import { same } from './declaration.ts';
import type { Doc, SourceRef, SourceRules } from './specs.ts';

type Rules = Omit<SourceRules, keyof SourceRef>;

/** The rules of a type; none where no `source()` names it. */
export const typeRules = (rules: readonly SourceRules[], of: SourceRef): Rules =>
  rules.find((rule) => same(rule, of)) ?? {};

/** Whether a stored document is of a type, by the type's own discriminator. */
export function isOfType(type: string, { discriminator = 'type' }: Rules, stored: Doc): boolean {
  return typeof discriminator === 'string' ? stored[discriminator] === type : discriminator(stored);
}

/** The type of a stored document, by the rules of its container's types; undefined where none of them claims it. */
export function typeOf(types: ReadonlyMap<string, Rules>, stored: Doc): string | undefined {
  const { type } = stored;
  const named = typeof type === 'string' ? types.get(type) : undefined;
  if (named && named.discriminator === undefined) return type as string;
  for (const [name, rules] of types) if (rules.discriminator && isOfType(name, rules, stored)) return name;
  return undefined;
}
