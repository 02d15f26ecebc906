// E15: programs that create the containers in another way than the document designs them.
import type { ContainerDetail, Design } from '../../documents.ts';
import type { SourceLine } from '../../model.ts';
import { type Creation, creationsIn } from '../creations.ts';
import type { Facts } from '../facts.ts';
import { type Rule, type RuleResult, DESIGN, together } from '../rule.ts';
import { isSaid, linesSaying, textAround } from '../said.ts';

/** Another program, or none, has to create it. */
const THERE =
  /\b(?:already|exists?|existing|automatic\w*|auto-?created|created by|optional|future|planned|phase|later|lease\w*|deprecated|legacy|not yet|proposed)\b/i;
const LOOP =
  /\bfor\b[^\n]{0,80}\bcontainers?\b|\bcontainers?\.(?:map|forEach)\b|foreach|(?:#|\/\/|--)\W*(?:repeat|and so on|same for|(?:the )?(?:other|remaining|rest)\b)/i;
const FEWEST = 2;

const isQuoted = (design: Design, name: string): boolean =>
  linesSaying(design, QUOTED).some(([, text]) => [`'${name}'`, `"${name}"`].some((one) => text.includes(one)));
const QUOTED = /["'][\w-]+["']/;

/** The designed containers that the programs leave out, though they create others. */
function leftOut(facts: Facts, design: Design, creations: readonly Creation[]): ContainerDetail[] {
  const created = new Set(creations.map(({ detail }) => detail));
  // With a loop over names no call shows them all.
  if (
    created.size < FEWEST ||
    creations.some(({ lines }) => LOOP.test(`${lines.slice(0, 2).join('\n')}\n${lines.slice(-4).join('\n')}`))
  )
    return [];
  return facts.containers.filter(
    (detail) =>
      !created.has(detail) &&
      detail.container.partitionKey.length > 0 &&
      !isQuoted(design, detail.container.name) &&
      !isSaid(design, detail, THERE),
  );
}

const TTL = /ttl|time_?to_?live/i;

/** Where a program creates a container without the TTL that the document states for it. A comment may name it. */
const withoutTtl = (
  design: Design,
  creations: readonly Creation[],
): { readonly name: string; readonly at: SourceLine }[] =>
  [...Map.groupBy(creations, ({ detail }) => detail)].flatMap(([{ container }, all]) => {
    const isSet = all.some(({ lines, at }) =>
      [textAround(design, at.line, 1, 0), ...lines].some((one) => TTL.test(one)),
    );
    return (container.defaultTtl ?? 0) > 0 && !isSet ? [{ name: container.name, at: all[0]?.at ?? container.at }] : [];
  });

/** Where a program creates a container without the policy that the document states for it, and no line names one. */
const withoutPolicy = (creations: readonly Creation[]): { readonly name: string; readonly at: SourceLine }[] =>
  [...Map.groupBy(creations, ({ detail }) => detail)].flatMap(([{ container, index }, all]) => {
    const begins = all[0]?.at.line ?? 0;
    const end = begins + (all[0]?.lines.length ?? 0);
    // A policy in the call itself is the one that was read.
    const isApart = [...index.included, ...index.excluded].some(({ at }) => at.line < begins || at.line >= end);
    return index.json && isApart && !all.some(({ lines }) => lines.some((line) => /idx|index/i.test(line)))
      ? [{ name: container.name, at: all[0]?.at ?? container.at }]
      : [];
  });

/** Where a program creates a container without the unique keys that the document states for it. They can't be added later. */
const withoutUnique = (creations: readonly Creation[]): { readonly name: string; readonly at: SourceLine }[] =>
  [...Map.groupBy(creations, ({ detail }) => detail)].flatMap(([{ container }, all]) =>
    (container.uniqueKeys ?? []).length > 0 && !all.some(({ lines }) => lines.some((line) => /unique/i.test(line)))
      ? [{ name: container.name, at: all[0]?.at ?? container.at }]
      : [],
  );

export const CREATED: readonly Rule[] = [
  {
    id: 'E15',
    title: 'Programs create every container that is designed, with its TTL, its indexing policy and its unique keys',
    severity: 'warning',
    why: 'Who follows the document runs its program. A container that the program leaves out doesn’t exist, and the first request to it fails with 404. One that is created without the designed TTL keeps its documents for ever, and one without the designed policy indexes everything; no error shows it. Unique keys can’t be added later. The rule reads calls of the SDKs and commands of the Azure CLI that create two of the designed containers or more. It passes over containers that exist already or are planned.',
    hint: 'Create the container in the same program, with the same settings. Or write who creates it.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const creations = creationsIn(design);
      if (creations.length < FEWEST) return;
      const left = leftOut(facts, design, creations);
      yield* together(
        left.map((detail) => ({ at: facts.place(detail, 'partitionKey') })),
        `${left.map(({ container }) => container.name).join(', ')}: designed, but the program that creates the others doesn’t create ${left.length === 1 ? 'it' : 'them'}`,
        creations.slice(0, 1).map(({ at }) => at),
      );
      const lasting = withoutTtl(design, creations);
      yield* together(
        lasting,
        `${lasting.map(({ name }) => name).join(', ')}: created without the TTL that the document states`,
      );
      const bareOnes = withoutPolicy(creations);
      yield* together(
        bareOnes,
        `${bareOnes.map(({ name }) => name).join(', ')}: created without the indexing policy that the document states`,
      );
      const free = withoutUnique(creations);
      yield* together(
        free,
        `${free.map(({ name }) => name).join(', ')}: created without the unique keys that the document states`,
        free.map(({ at }) => at),
      );
    },
  },
];
