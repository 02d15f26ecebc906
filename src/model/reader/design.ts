// Reads the whole `cosmosdb_data_model.md`: the Model, and the further facts for the rules.
import type { Design, PatternMapping, ProjectionRow } from '../documents.ts';
import type { ModelFinding } from '../model.ts';
import { statedQuestionsOf } from './asked.ts';
import { commonOf } from './common.ts';
import { detailOf } from './detail.ts';
import { statedIsMapping, mappingRow } from './mapping.ts';
import { type Section, within } from './text/outline.ts';
import { isProjections, projectionDerivedFrom, projectionFromBullets, projectionOf } from './projections.ts';
import { readDrafts } from './read.ts';
import { sectionNameOf, sectionsNamed } from './text/sections.ts';
import { parsed, plainLines, readMarkdown } from './text/source.ts';
import { tablesOf } from './text/tables.ts';

/** Throws the errors of `readDocument` and `parseModel`. `known`: the pattern ids for "all patterns". */
export const readDesign = async (path: string, known: readonly string[] = []): Promise<Design> =>
  parseDesign(await readMarkdown(path), path, known);

/** Throws the errors of `parseModel`. */
export const parseDesign = (document: string, file: string, known: readonly string[] = []): Design =>
  parsed(document, file, () => designOf(document, file, known));

function designOf(document: string, file: string, known: readonly string[]): Design {
  const text = plainLines(document);
  const read = readDrafts(text, file);
  const { root, model, stated, lines } = read;
  const common = commonOf(root, text, file);
  const findings: ModelFinding[] = [...common.findings, ...model.findings];
  const names = model.containers.map(({ name }) => name);
  const { mapping, projections } = rowsOf(root, text, file, names, known, findings);
  const section = sectionsNamed(root, 'projections')[0];
  for (const row of bulletProjections(section, common.prose)) projections.push(row);
  const sections = [...within(root)];
  const proseOfContainers = new Map(
    model.containers.map((container) => [container, proseOf(sections, container.at.line, common.prose)]),
  );
  for (const [container, prose] of proseOfContainers) {
    for (const piece of prose) {
      if (
        /^derived from$|^来源于$/i.test(piece.label ?? '') &&
        !projections.some(({ sink }) => sink?.container === container.name)
      )
        projections.push(projectionDerivedFrom(container.name, piece.text, piece.at));
    }
  }
  const containers = model.containers.map((container) =>
    detailOf(
      container,
      proseOfContainers.get(container) ?? [],
      common,
      stated.get(container.name) ?? { json: false, included: [], excluded: [], composites: [] },
      projections,
      known,
    ),
  );
  return {
    ...common,
    model,
    containers,
    mapping,
    asked: statedQuestionsOf(root, text, file, model.containers, new Set(mapping.map(({ at }) => at.line))),
    projections,
    exampleLines: lines,
    projectionsAt: section ? { file, line: section.line } : projections[0]?.at,
    findings: findings.toSorted((a, b) => a.at.line - b.at.line),
  };
}

/** The prose of the section that designs a container. */
function proseOf(all: readonly Section[], line: number, prose: Design['prose']): Design['prose'] {
  const section = all.find((candidate) => candidate.line === line && candidate.depth > 0);
  if (!section) return [];
  const next = all.find((candidate) => candidate.line > line && candidate.depth <= section.depth);
  return prose.filter(({ at }) => at.line > line && (!next || at.line < next.line));
}

function rowsOf(
  root: Section,
  text: string,
  file: string,
  names: readonly string[],
  known: readonly string[],
  findings: ModelFinding[],
) {
  const mapping: PatternMapping[] = [];
  const projections: ProjectionRow[] = [];
  for (const section of within(root)) {
    for (const table of tablesOf(section.blocks, text, file)) {
      if (isProjections(table)) projections.push(...table.rows.filter(({ struck }) => !struck).map(projectionOf));
      else if (statedIsMapping(table, sectionNameOf(section.title))) {
        for (const row of table.rows) {
          if (row.struck) continue;
          const read = mappingRow(row, names, known);
          if (read) mapping.push(read);
          else
            findings.push({
              code: 'pattern-id',
              severity: 'information',
              message: 'A row of the mapping names no pattern, so Millrace ignores it',
              at: row.at,
            });
        }
      } else if (
        !/container|容器|コンテナ/i.test(`${section.title} ${table.headers.join(' ')}`) &&
        !table.headers.some((header) => /shard/i.test(header)) &&
        table.headers.length > 2
      ) {
        findings.push({
          code: 'table-skipped',
          severity: 'information',
          message: `Millrace doesn't read the table with the columns ${table.headers.join(', ')}`,
          at: { file, line: table.line },
        });
      }
    }
  }
  return { mapping, projections };
}

/** `### name` under the section, with bullets. */
function bulletProjections(section: Section | undefined, prose: Design['prose']): ProjectionRow[] {
  return (section?.sections ?? []).flatMap((child) => {
    const next = section?.sections.find(({ line }) => line > child.line);
    const bullets = prose.filter(
      ({ at, heading }) => heading === child.title && at.line > child.line && (!next || at.line < next.line),
    );
    const name = child.code ?? child.title.replace(/^[\d.\s]+/, '');
    return bullets.some(({ label }) => label !== undefined) && sectionNameOf(child.title) === undefined
      ? [projectionFromBullets(name, bullets, { file: bullets[0]?.at.file ?? '', line: child.line })]
      : [];
  });
}
