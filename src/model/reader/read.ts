import type { DocumentedMap, StatedIndex } from '../documents.ts';
import type { Model } from '../model.ts';
import { outlineOf, skippedSections, titleOf } from './common.ts';
import { ContainerDraft, containerName, isNamedContainer, isPhrase } from './container.ts';
import { type Fact, labelledFacts } from './labelled-facts.ts';
import { contentElsewhere, insideOf, isOfContainer, onlyIn } from './elsewhere.ts';
import { namedLike } from './owners.ts';
import { contentOf } from './text/fences.ts';
import { Findings } from './findings.ts';
import { headed } from './text/headed.ts';
import { isSame } from './names.ts';
import { normalised } from './text/labels.ts';
import { type Section, lineOf, sourceOf, within } from './text/outline.ts';
import { piecesOf } from './text/prose.ts';
import { shardMapsOf, shardedContainersOf } from './shard-maps.ts';
import { parsed, plainLines, readMarkdown } from './text/source.ts';
import { sectionName, sectionNameOf } from './text/sections.ts';
import { type Group, groupsOf, statedLinesOf, commentedKey } from './stated.ts';
import { type Overview, overviews } from './overviews.ts';
import { keyInHeading } from './key-in-heading.ts';
import { typesInTables } from './typed.ts';
import { partitionKey } from './text/values.ts';
import { modelError } from '../errors.ts';
import { sharedError } from '../../base/shared-errors.ts';

/** Reads `cosmosdb_data_model.md`. Throws the errors of `readDocument` and `parseModel`. */
export const readModel = async (path: string): Promise<Model> => parseModel(await readMarkdown(path), path);

/**
 * The text of a data-model document as a Model; `file` is the name in places and messages. `findings` has the parts that
 * couldn't be read. Throws UsageError `model-without-containers` if no known section occurs, `model-without-containers`, `model-wrong` or `model-wrong`.
 */
export const parseModel = (document: string, file: string): Model =>
  // The Markdown parser removes a byte order mark and counts offsets without it, so values would be cut at a wrong offset.
  parsed(document, file, () => readDrafts(plainLines(document), file).model);

export interface ReadModel {
  readonly root: Section;
  readonly model: Model;
  /** By container: the index paths as they are written. */
  readonly stated: ReadonlyMap<string, StatedIndex>;
  /** Line of each example, by the example itself. */
  readonly lines: ReadonlyMap<object, number>;
}

/** Twice as many as an account may have (ASM-E97). */
const MOST_CONTAINERS = 1_000;

/** The Model with its tree of sections. Throws the errors of `parseModel`. */
export function readDrafts(text: string, file: string): ReadModel {
  const root = outlineOf(text, file);
  const all = [...within(root)].slice(1);
  const findings = new Findings(file);
  const rows = overviews(all, text, file);
  const drafts = containers(all, text, findings, rows);
  drafts.push(...besides(all, drafts, text, findings));
  const sectioned = drafts.length > 0;
  groups(all, drafts, text, findings);
  if (drafts.length === 0) drafts.push(...headed(all, text, findings, rows));
  // Where containers have sections, a row about another one only mentions it.
  if (!sectioned) drafts.push(...tabled(all, drafts, text, findings, rows));
  if (drafts.length === 0) drafts.push(...unnamed(all, text, findings));
  if (drafts.length === 0) {
    if (all.some((section) => sectionName(section.title)))
      throw modelError('model-without-containers', `No container was found in ${file}, so nothing was checked`, {
        hint: 'Write each with its name and its key: a section `### Name Container` with `- **Partition Key**: /field`, or a table with the columns Container and Partition Key.',
      });
    throw modelError(
      'model-without-containers',
      `No container was found in ${file}, and none of the headings of a data-model document`,
      { hint: 'Name the `cosmosdb_data_model.md`, with a section `## Container Designs`.' },
    );
  }
  assertFew(drafts, file);
  factsInTables(drafts, rows);
  typesInTables(all, drafts, rows, text, file);
  keyForAll(all, drafts, text);
  indexingElsewhere(all, drafts, text, findings);
  contentElsewhere(all, drafts, text, findings);
  const known = (title: string): boolean => sectionNameOf(title) !== undefined || /\bcontainer\b/i.test(title);
  findings.list.push(...skippedSections(root, known, file));
  const read = drafts.map((draft) => draft.finish());
  const shardMaps = shardedContainersOf(mapsIn(root, text, file));
  return {
    root,
    model: {
      title: titleOf(root),
      file,
      containers: read,
      ...(shardMaps.length > 0 && { shardMaps }),
      findings: findings.list.toSorted((a, b) => a.at.line - b.at.line),
    },
    stated: new Map(drafts.map((draft) => [draft.name, draft.indexing.stated])),
    lines: new Map(drafts.flatMap((draft) => [...draft.lines])),
  };
}

/** Most documents have no shard map, and the prose of a large one takes time to read. */
const mapsIn = (root: Section, text: string, file: string): DocumentedMap[] =>
  /shard|分片/i.test(text) ? shardMapsOf(root, piecesOf(root, text, file).prose, text, file) : [];

/** Sections under "Container Designs" with a design; and others with "container" in their title that state a key. */
function containers(
  all: readonly Section[],
  text: string,
  findings: Findings,
  rows: readonly Overview[],
): ContainerDraft[] {
  const designs = all.filter((section) => sectionName(section.title) === 'containers');
  const children = new Set(designs.flatMap((section) => section.sections).flatMap((section) => partsOf(section, text)));
  const designed = new Map<string, ContainerDraft>();
  /** Sections with a key, such as "Partition Strategy". */
  const keyed: ContainerDraft[] = [];
  for (const section of [...children, ...strayContainers(all, designs, text, rows)]) {
    if (section.struck || sectionName(section.title) === 'indexing') continue;
    const stated = section.code === undefined ? statedIn(section, text) : [];
    // "Create the container" names what its labels name.
    const [own] = stated.length === 1 ? stated : [];
    const draft = new ContainerDraft(own === undefined ? section : { ...section, code: own }, text, findings);
    const before = designed.get(draft.name);
    const named = own !== undefined || isNamedContainer(section);
    // "Container Security" with a policy names no container.
    if (!named && !draft.keyed) continue;
    if (!named && isPhrase(section)) keyed.push(draft);
    else if (!draft.designed) {
      if (/container|容器|コンテナ/i.test(section.title) || section.code !== undefined) {
        findings.add(
          'warning',
          'design-elsewhere',
          section.line,
          `The design of ${draft.name} isn't in this document`,
          'Write its partition key and examples here.',
        );
      }
    } else if (before) {
      if (own !== undefined) continue;
      const message = `Container ${draft.name} is designed here and in line ${before.line}; Millrace ignores this design`;
      findings.add('error', 'container-twice', section.line, message, 'Combine the two sections.');
    } else designed.set(draft.name, draft);
  }
  return designed.size > 0 ? [...designed.values()] : keyed;
}

/** The names that a section's groups and labels state; of a section that names no container, those of its parts. */
function statedIn(section: Section, text: string): string[] {
  const own = [...namesIn(section, text), ...calledIn(section, text)];
  return own.length > 0 || isNamedContainer(section)
    ? own
    : [...new Set([...within(section)].flatMap((part) => namesIn(part, text)))];
}

/** "Core Data" and "Created at runtime" group the sections of containers, and are none. */
function partsOf(section: Section, text: string): readonly Section[] {
  const keyed = section.sections.filter((part) => statesKey(part, text));
  return keyed.length > 1 && !statesKey(section, text) ? section.sections : [section];
}

/**
 * Containers that aren't under "Container Designs". A title with "container" is enough if it states a key itself or in a
 * section below: `## Container Architecture` with a section for each container isn't one, nor is "Container
 * Configuration" below a container. If nothing states a key, the titles alone decide.
 */
function strayContainers(
  all: readonly Section[],
  designs: readonly Section[],
  text: string,
  rows: readonly Overview[],
): Section[] {
  const under = new Set(designs.flatMap((section) => [...within(section)]));
  const titled = all.filter(
    (section) =>
      /\bcontainer\b|容器|コンテナ/i.test(section.title) &&
      section.depth > 1 &&
      !under.has(section) &&
      (designs.length === 0 || !sectionName(section.title)),
  );
  const own = (section: Section): boolean =>
    (statesKey(section, text) && namesIn(section, text).length < 2) ||
    (section.code !== undefined && rows.some(({ name }) => name === section.code));
  const keyed = titled.filter(
    (section) =>
      own(section) ||
      (section.sections.some(own) && !section.sections.some((child) => titled.includes(child) && own(child))),
  );
  const inside = new Set(keyed.flatMap((section) => [...within(section)].slice(1)));
  const stated = keyed.filter((section) => !inside.has(section));
  if (stated.length > 0 || designs.length > 0) return stated;
  // "Container Structure" with a section for each container isn't one itself.
  return titled.filter(
    (section) =>
      !sectionName(section.title) &&
      namesIn(section, text).length < 2 &&
      section.sections.filter((child) => titled.includes(child)).length < 2,
  );
}

/** Where one title says "container" and those beside it don't, the ones with a key and a name of their own are containers too. */
function besides(
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
  text: string,
  findings: Findings,
): ContainerDraft[] {
  const parents = all.filter(({ sections }) => sections.some((section) => isOfContainer(section, drafts)));
  return parents
    .flatMap(({ sections }) => sections)
    .filter(
      (section) =>
        section.code !== undefined && !section.struck && !isOfContainer(section, drafts) && statesKey(section, text),
    )
    .map((section) => new ContainerDraft(section, text, findings))
    .filter((draft) => !drafts.some(({ name }) => isSame(name, draft.name)));
}

const statesKey = (section: Section, text: string): boolean =>
  keyInHeading(section.title) !== undefined ||
  labelledFacts(section.blocks, text).facts.some((fact) => fact.name === 'partitionKey' && fact.text !== '') ||
  groupsOf(section, text).length > 0;

/** `- Name: `orders`` in a section with a key. */
const calledIn = ({ blocks }: Section, text: string): string[] =>
  labelledFacts(blocks, text).facts.some(({ name }) => name === 'partitionKey')
    ? itemsOf(blocks, text).flatMap((item) => /^\**name\**:\**\s*`([\w-]+)`$/i.exec(item.text.trim())?.[1] ?? [])
    : [];

const namesIn = (section: Section, text: string): string[] => [
  ...new Set(groupsOf(section, text).map(({ name }) => name)),
];

/** Containers of groups outside the sections of others. For a known container, a group states its key again. */
function assertFew({ length }: readonly ContainerDraft[], file: string): void {
  if (length > MOST_CONTAINERS)
    throw sharedError(
      'model-wrong',
      `${file} has more than ${MOST_CONTAINERS} containers; an account has 500 at most`,
      {
        hint: 'Check that the path names the modelling document, and describe each container once.',
      },
    );
}

function groups(all: readonly Section[], drafts: ContainerDraft[], text: string, findings: Findings): void {
  const inside = new Set(
    all.filter(({ line }) => drafts.some((draft) => draft.line === line)).flatMap((section) => [...within(section)]),
  );
  for (const section of all) {
    for (const group of groupsOf(section, text)) {
      const known = drafts.find(({ name }) => isSame(name, group.name));
      if (known) restate(known, group);
      else if (!inside.has(section)) drafts.push(grouped(group, text, findings, sectionOf(all, group.name, drafts)));
      assertFew(drafts, findings.file);
    }
  }
}

function restate(draft: ContainerDraft, { facts, definition }: Group): void {
  for (const fact of facts.filter(({ name }) => name === 'partitionKey' || name === 'ttl')) draft.fact(fact);
  if (definition) draft.declared(definition);
}

/** The section about a container whose key stands elsewhere: the one with its name, and with content of its own. */
function sectionOf(all: readonly Section[], name: string, drafts: readonly ContainerDraft[]): Section | undefined {
  const inside = insideOf(all, (section) => isOfContainer(section, drafts));
  const called = all.filter(
    (section) =>
      !section.struck &&
      !inside.has(section) &&
      namedLike(containerName(section), [{ name }]) !== undefined &&
      [...within(section)].some(({ blocks }) => blocks.some(({ type }) => type === 'code' || type === 'list')),
  );
  return onlyIn(called) ?? onlyIn(called.filter(({ title }) => /\bcontainer\b|容器|コンテナ/i.test(title)));
}

function grouped(
  { name, line, facts, definition }: Group,
  text: string,
  findings: Findings,
  section?: Section,
): ContainerDraft {
  const draft = new ContainerDraft(
    section
      ? { ...section, code: name }
      : { depth: 7, title: name, code: name, struck: false, line, blocks: [], sections: [] },
    text,
    findings,
  );
  for (const fact of facts) if (fact.name !== undefined) draft.fact(fact);
  if (definition) draft.declared(definition);
  return draft;
}

/** A document about one container, whose key stands in a text. Its name is the word before "container", if there is one. */
function unnamed(all: readonly Section[], text: string, findings: Findings): ContainerDraft[] {
  const keys = all.flatMap((section) => {
    const { facts, loose } = labelledFacts(section.blocks, text);
    return [...loose.flatMap(statedLinesOf), ...facts].filter(
      (fact) => fact.name === 'partitionKey' && partitionKey(fact.text, []) !== undefined,
    );
  });
  const [first] = keys.length > 0 ? keys : commentedKey(text);
  if (!first) return [];
  const name =
    // "Create the container `orders` with": more certain than a variable that is called container.
    /\bcontainer\s+(?:called\s+|named\s+)?`([\w-]+)`/i.exec(text)?.[1] ??
    /^\W*container(?: id| name)?\s*[:=]\s*[`"']?([\w-]+)/im.exec(text)?.[1] ??
    /[`(]([\w-]+)`?\s+container\b/i.exec(text)?.[1] ??
    /^\W*container["'`]?\s*:\s*["'`]([\w-]+)/im.exec(text)?.[1] ??
    /CONTAINER(?:_NAME|_ID)?[`"']?\s*[:=][^\n]{0,40}\(default:?\s*[`"']([\w-]+)/i.exec(text)?.[1];
  return [
    // Another key is of another container, whose name isn't read.
    grouped({ name: name ?? 'container', line: first.line, facts: [first] }, text, findings),
  ];
}

/** A document without sections for containers designs those of the rows of its overviews. */
function tabled(
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
  text: string,
  findings: Findings,
  rows: readonly Overview[],
): ContainerDraft[] {
  const unknown = rows.filter(({ name }) => !drafts.some((draft) => isSame(draft.name, name)));
  return [...Map.groupBy(unknown, ({ name }) => name.toLowerCase()).values()].flatMap(([first]) =>
    first ? [grouped({ ...first, facts: [] }, text, findings, sectionOf(all, first.name, drafts))] : [],
  );
}

/** An overview gives a container what its section lacks; the same key twice agrees, another is an error. */
function factsInTables(drafts: readonly ContainerDraft[], rows: readonly Overview[]): void {
  for (const { name, facts } of rows) {
    const draft = drafts.find((one) => isSame(one.name, name));
    for (const fact of facts) if (fact.name === 'partitionKey' || !draft?.states(fact.name)) draft?.fact(fact);
  }
}

/** `## Partition Strategy` with one key, in a document whose containers state none: the key is that of all. */
function keyForAll(all: readonly Section[], drafts: readonly ContainerDraft[], text: string): void {
  if (drafts.some((draft) => draft.keyed)) return;
  const inside = insideOf(all, (section) => isOfContainer(section, drafts));
  const keys = all
    .filter((section) => !inside.has(section))
    .flatMap(({ blocks }) => labelledFacts(blocks, text).facts.filter(({ name }) => name === 'partitionKey'));
  const [only, ...others] = keys;
  if (only && others.length === 0) for (const draft of drafts) draft.fact(only);
}

/** Indexing in other sections. A `Container` bullet or the heading names its container; if not, it is the nearest above. */
function indexingElsewhere(
  all: readonly Section[],
  drafts: readonly ContainerDraft[],
  text: string,
  findings: Findings,
): void {
  const inside = insideOf(all, (section) => isOfContainer(section, drafts));
  const roots = all.filter((section) => sectionName(section.title) === 'indexing' && !inside.has(section));
  // Sections that speak of composite indexes, so that `a + b` in an item is one.
  const composed = new Set<Section | undefined>(
    roots.filter((root) =>
      /\bcomposite\b/i.test(`${root.title} ${root.blocks.map((block) => sourceOf(block, text)).join(' ')}`),
    ),
  );
  for (const section of new Set(roots.flatMap((root) => [...within(root)]))) {
    if (inside.has(section)) continue;
    const { facts, loose } = labelledFacts(section.blocks, text);
    const named = (words: string) =>
      drafts.find(({ name }) => ` ${normalised(words)} `.includes(` ${normalised(name)} `));
    const stated = facts.find((fact) => fact.name === 'container');
    const owner = (stated && named(stated.text)) ?? named(section.title) ?? nearest(section, all, drafts);
    const relevant = facts.filter(
      (fact) => fact.name !== undefined && fact.name !== 'container' && fact.name !== 'ignored',
    );
    const contents = loose.flatMap((fence) => contentOf(fence, findings) ?? []);
    const sums = composed.has(rootOf(section, roots)) && owner ? itemsOf(section.blocks, text) : [];
    for (const item of sums) owner?.indexing.sum(item, findings);
    if (relevant.length + contents.length === 0) continue;
    // Without a name, the one policy of a document is that of every container.
    if (!owner && roots.length === 1 && contents.length === 1 && relevant.length === 0) {
      for (const draft of drafts) for (const content of contents) draft.indexing.content(content, findings);
      continue;
    }
    if (!owner) {
      findings.add(
        'warning',
        'indexing-owner',
        section.line,
        `The section "${section.title}" doesn't name the container of its indexing`,
        `Name the container in the heading: ### ${drafts[0]?.name ?? 'Name'} Container.`,
      );
      continue;
    }
    for (const fact of relevant) owner.fact(fact);
    for (const content of contents) owner.indexing.content(content, findings);
  }
}

const rootOf = (section: Section, roots: readonly Section[]): Section | undefined =>
  roots.find((root) => [...within(root)].includes(section));

/** The items of lists, each a line of text. */
const itemsOf = (blocks: Section['blocks'], text: string): Fact['items'] =>
  blocks.flatMap((block) =>
    block.type === 'list'
      ? block.children.map((item) => ({ text: sourceOf(item.children[0], text), line: lineOf(item) }))
      : [],
  );

/** Only for sections under the container designs, or if there is one container: `## Indexing Strategy` is near to none. */
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
