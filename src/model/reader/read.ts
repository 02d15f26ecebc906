import { UsageError } from '../../base/errors.ts';
import type { StatedIndex } from '../documents.ts';
import type { Model } from '../model.ts';
import { outlineOf, skippedSections, titleOf } from './common.ts';
import { ContainerDraft } from './container.ts';
import { labelledFacts } from './labelled-facts.ts';
import { contentOf } from './fences.ts';
import { Findings } from './findings.ts';
import { normalised } from './labels.ts';
import { type Section, within } from './outline.ts';
import { parsed, readDocument } from './source.ts';
import { sectionName, sectionNameOf } from './sections.ts';

/** Reads `cosmosdb_data_model.md`. Throws what `readDocument` and `parseModel` throw. */
export const readModel = async (path: string): Promise<Model> => parseModel(await readDocument(path), path);

/**
 * The text of a data-model document as a Model; `file` is only named in places. What it couldn't read is in `findings`.
 * Throws UsageError `not-a-model-document` where none of the sections occurs, `model-without-containers`, and
 * `document-too-deep`, `document-too-intricate` or `document-too-slow`.
 */
export const parseModel = (document: string, file: string): Model =>
  // The Markdown parser drops a byte order mark but counts offsets without it: values would be cut one off.
  parsed(document, file, () => readDrafts(document.replace(/^\uFEFF/, ''), file).model);

export interface ReadModel {
  readonly root: Section;
  readonly model: Model;
  /** By container: the index paths as they are written. */
  readonly stated: ReadonlyMap<string, StatedIndex>;
  /** Line of each example, by the example itself. */
  readonly lines: ReadonlyMap<object, number>;
}

/** The Model with the tree it was read from. Throws what `parseModel` throws. */
export function readDrafts(text: string, file: string): ReadModel {
  const root = outlineOf(text, file);
  const all = [...within(root)].slice(1);
  if (!all.some((section) => sectionName(section.title))) {
    throw new UsageError(
      'not-a-model-document',
      `${file} is not a document of this kind: none of its headings is one of a data model`,
      {
        mend: 'Give the cosmosdb_data_model.md, with a section "## Container Designs".',
      },
    );
  }
  const findings = new Findings(file);
  const drafts = containers(all, text, findings);
  if (drafts.length === 0) {
    throw new UsageError('model-without-containers', `${file} designs no container`, {
      mend: 'Add under "## Container Designs" a "### Name Container" with JSON examples and "- **Partition Key**: `/field`".',
    });
  }
  indexingElsewhere(all, drafts, text, findings);
  const known = (title: string): boolean => sectionNameOf(title) !== undefined || /\bcontainer\b/i.test(title);
  findings.list.push(...skippedSections(root, known, file));
  const read = drafts.map((draft) => draft.finish());
  return {
    root,
    model: {
      title: titleOf(root),
      file,
      containers: read,
      findings: findings.list.toSorted((a, b) => a.at.line - b.at.line),
    },
    stated: new Map(drafts.map((draft) => [draft.name, draft.indexing.stated])),
    lines: new Map(drafts.flatMap((draft) => [...draft.lines])),
  };
}

/** Sections under "Container Designs", and any other that calls itself a container, as far as they hold a design. */
function containers(all: readonly Section[], text: string, findings: Findings): ContainerDraft[] {
  const designs = all.filter((section) => sectionName(section.title) === 'containers');
  const stray = all.filter(
    (section) => /\bcontainer\b/i.test(section.title) && section.depth > 1 && !sectionName(section.title),
  );
  const candidates = new Set([
    ...designs.flatMap((section) => section.sections),
    ...(designs.length === 0 ? stray : []),
  ]);
  const drafts: ContainerDraft[] = [];
  for (const section of candidates) {
    if (section.struck || sectionName(section.title) === 'indexing') continue;
    const draft = new ContainerDraft(section, text, findings);
    const before = drafts.find(({ name }) => name === draft.name);
    if (!draft.designed) {
      if (/container|容器/i.test(section.title) || section.code !== undefined) {
        findings.add(
          'warning',
          'design-elsewhere',
          section.line,
          `The design of ${draft.name} isn't in this document`,
          'Write its key and examples here.',
        );
      }
    } else if (before) {
      const message = `Container ${draft.name} is designed here and in line ${before.line}; this one is left out`;
      findings.add('error', 'container-twice', section.line, message, 'Join the two sections.');
    } else drafts.push(draft);
  }
  return drafts;
}

/** Indexing beside the containers: its owner is whom the heading or a `Container` bullet names, else the nearest above. */
function indexingElsewhere(
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
  text: string,
  findings: Findings,
): void {
  const inside = new Set(
    all
      .filter((section) => drafts.some((draft) => draft.line === section.line))
      .flatMap((section) => [...within(section)]),
  );
  const roots = all.filter((section) => sectionName(section.title) === 'indexing' && !inside.has(section));
  for (const section of new Set(roots.flatMap((root) => [...within(root)]))) {
    const { facts, loose } = labelledFacts(section.blocks, text);
    const named = (words: string) =>
      drafts.find(({ name }) => ` ${normalised(words)} `.includes(` ${normalised(name)} `));
    const stated = facts.find((fact) => fact.name === 'container');
    const owner = (stated && named(stated.text)) ?? named(section.title) ?? nearest(section, all, drafts);
    const relevant = facts.filter(
      (fact) => fact.name !== undefined && fact.name !== 'container' && fact.name !== 'ignored',
    );
    const contents = loose.flatMap((fence) => contentOf(fence, findings) ?? []);
    if (relevant.length + contents.length === 0) continue;
    if (!owner) {
      findings.add(
        'warning',
        'indexing-owner',
        section.line,
        `Whose indexing "${section.title}" is can't be told`,
        `Name the container in the heading: ### ${drafts[0]?.name ?? 'Name'} Container.`,
      );
      continue;
    }
    for (const fact of relevant) owner.fact(fact);
    for (const content of contents) owner.indexing.content(content, findings);
  }
}

/** Only under the same section: what stands under `## Indexing Strategy` is nobody's by its place alone, unless there is one container. */
function nearest(
  section: Section,
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
): ContainerDraft | undefined {
  if (drafts.length === 1) return drafts[0];
  const parent = all.find((candidate) => candidate.sections.includes(section));
  const above = drafts.filter((draft) => draft.line < section.line);
  return parent && sectionName(parent.title) === 'containers' ? above.at(-1) : undefined;
}
