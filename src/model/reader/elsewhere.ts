// Examples and policies that stand outside the section of their container, and which sections are of one.
import { isObject } from '../../base/json.ts';
import { sourceOf, within, lineOf, type Section } from './text/outline.ts';
import type { ContainerDraft } from './container.ts';
import { contentOf } from './text/fences.ts';
import { Findings } from './findings.ts';
import { type StatedFence, labelledFacts } from './labelled-facts.ts';
import { namedLike, onlyOne } from './owners.ts';
import { sectionName } from './text/sections.ts';

export const isOfContainer = ({ line }: Section, drafts: readonly ContainerDraft[]): boolean =>
  drafts.some((draft) => draft.line === line);

/** Some sections, with all that is in them. */
export const insideOf = (all: readonly Section[], isOne: (section: Section) => boolean): Set<Section> =>
  new Set(all.filter(isOne).flatMap((section) => [...within(section)]));

export const onlyIn = <T>(list: readonly T[]): T | undefined => (list.length === 1 ? list[0] : undefined);

/** Examples for containers without their own, and policies for the only container, from sections about other things. */
export function contentElsewhere(
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
  text: string,
  findings: Findings,
): void {
  const inside = insideOf(all, (section) => isOfContainer(section, drafts) || indexingTitle(section));
  const without = drafts.filter(({ lines }) => lines.size === 0);
  const only = onlyOne(drafts);
  for (const section of all) {
    if (inside.has(section)) continue;
    for (const { fence, label } of fencesOf(section, text)) {
      const told = toldAbove(section, fence, drafts, text);
      // What can't be read here may be of anything.
      const content = contentOf(fence, new Findings(findings.file));
      if (content?.kind === 'policy' || content?.kind === 'composites') only?.indexing.content(content, findings);
      if (content?.kind !== 'examples') continue;
      for (const element of content.elements) {
        const { value } = element;
        if (!isObject(value) || typeof value['id'] !== 'string') continue;
        const { type } = value;
        const owner =
          told ??
          listing(all, drafts, label, text) ??
          (typeof type === 'string' ? onlyIn(without.filter((draft) => draft.has(type))) : undefined) ??
          onlyOne(without) ??
          (typeof type === 'string' ? namedLike(type, without) : undefined) ??
          namedLike(subjectOf(label), without) ??
          namedLike(subjectOf(commentAbove(fence, element.line)), without);
        owner?.examples({ elements: [element], partial: content.partial });
      }
    }
  }
}

/** The one container that the paragraph above a fence names in backticks: "Every `orders` document contains:". */
function toldAbove(
  { blocks }: Section,
  fence: StatedFence,
  drafts: readonly ContainerDraft[],
  text: string,
): ContainerDraft | undefined {
  const at = blocks.findIndex((block) => block.type === 'code' && lineOf(block) + 1 === fence.line);
  const above = blocks[at - 1];
  if (above?.type !== 'paragraph') return undefined;
  const named = sourceOf(above, text);
  return onlyIn(drafts.filter(({ name }) => named.includes(`\`${name}\``)));
}

/** The one container whose section lists the title in backticks: "- Documents: `TaskDocument`, `GoalDocument`". */
function listing(
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
  label: string,
  text: string,
): ContainerDraft | undefined {
  if (!/^[A-Z]\w+$/.test(label)) return undefined;
  return onlyIn(
    drafts.filter((draft) =>
      all.some(
        ({ line, blocks }) =>
          line === draft.line &&
          blocks.some((block) => block.type === 'list' && sourceOf(block, text).includes(`\`${label}\``)),
      ),
    ),
  );
}

/** What "User Document" and "users container document" are about. */
const subjectOf = (label: string): string =>
  label.replace(/\s*\b(container|collection|document|item|entity|schema|example)s?\b.*$/i, '');

/** The comment in the line above an element of a fence. */
const commentAbove = (fence: StatedFence, line: number): string =>
  /^\s*(?:\/\/|#)\s*(.*)$/.exec(fence.text.split('\n')[line - fence.line - 1] ?? '')?.[1] ?? '';

const indexingTitle = ({ title }: Section): boolean => sectionName(title) === 'indexing';

/** The fences of a section, each with the label above it or the title. */
function fencesOf(section: Section, text: string): { fence: StatedFence; label: string }[] {
  const { facts, loose } = labelledFacts(section.blocks, text);
  return [
    ...loose.map((fence) => ({ fence, label: section.title })),
    ...facts.flatMap(({ fences, label }) => fences.map((fence) => ({ fence, label }))),
  ];
}
