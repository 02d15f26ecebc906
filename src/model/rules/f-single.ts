// F21: what may be used once, and is taken by two requests at the same time.
import type { Design, ContainerDetail } from '../documents.ts';
import { linesOf } from './declared.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, together } from './rule.ts';

/** Containers of such things; a session or a refresh token is used many times. */
const SINGLE =
  /^(?:login|magic|otps?|one_?time|invit\w*|verif\w*|(?:password_?)?reset|activation|confirm\w*|coupon|voucher|promo|pairing|share)[-_]?(?:tokens?|codes?|links?|s)?$|^(?:gift_?cards?|single_?use\w*)$/i;
const USED =
  /\b(?:redeem\w*|single[- ]use|one[- ]time|consum(?:e|ed|es|ption)|verif(?:y|ies|ied)|used once|claim(?:s|ed)?)\b/i;
const GUARDED =
  /\be-?tags?\b|\bif-match\b|\bconditional\w*|\bused_?(?:at|by|on)\b|\bis_?used\b|\bused[- ](?:state|flag|mark)|\bconsumed_?at\b|\bredeemed_?(?:at|by)\b|\bdelet\w+[^.|]{0,30}\b(?:before|first|succe)|\bonly (?:one|the first) (?:request|delete|redemption)|\boptimistic/i;

const textOf = (design: Design, detail: ContainerDetail): string => {
  const { from, to } = linesOf(design, detail);
  return design.lines.slice(from - 1, to - 1).join('\n');
};

export const SINGLES: readonly Rule[] = [
  {
    id: 'F21',
    title: 'What may be used once is taken by a condition',
    severity: 'warning',
    source: SOURCES.microsoft('Transactions and optimistic concurrency control'),
    why: 'Two requests with the same code at the same time both read it, both find it good, and both sign in or take the discount. Only a write that one of them loses decides: a replace or a delete with the ETag of what was read (ASM-E137), or a create of an id that the other has created. A delete without a condition that comes after doesn’t help, and a TTL doesn’t either. The rule looks at containers of login codes, invitations, resets and vouchers whose text speaks of their use.',
    hint: 'Delete the document with If-Match (or set `usedAt` by a conditional patch) first, and go on only if this succeeded.',
    needs: [DESIGN],
    *check({ design, containers }): Iterable<RuleResult> {
      if (!design) return;
      const all = containers
        .filter(({ container }) => SINGLE.test(container.name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, '_')))
        .map((detail) => ({ detail, text: textOf(design, detail), at: detail.container.at }))
        .filter(({ text }) => USED.test(text));
      if (all.length === 0) {
        yield missing('a container of what may be used once');
        return;
      }
      const open = all.filter(({ text }) => !GUARDED.test(text));
      yield* together(
        open,
        `${open.map(({ detail }) => detail.container.name).join(', ')}: two requests at the same time can both use one, because nothing is said to take it from the other`,
        open.flatMap(({ detail }) => detail.container.types.map(({ at }) => at)),
      );
    },
  },
];
