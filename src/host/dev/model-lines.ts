// What `dev` says first: whether the pipeline is what the document says.
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.ts';
import { feedReaders } from '../../pipeline/pipeline.ts';
import type { Pipeline } from '../../pipeline/specs.ts';
import { checkDocuments } from '../../model/rules/index.ts';
import { plural } from '../../procedures/table.ts';
import type { Workspace } from '../../runtime/workspace.ts';
import { DESIGN_FILE, readPair, shortPath } from '../../verbs/model/pair.ts';

/** The differences between the document and the code, each with its line. A difference stops nothing. */
export async function modelLines(workspace: Workspace, pipeline: Pipeline): Promise<string[]> {
  const there = await access(join(workspace.folder, DESIGN_FILE)).then(
    () => true,
    () => false,
  );
  // A model.ts by hand needs no document.
  if (!there) return [];
  try {
    const { documents, rules } = await readPair(workspace, workspace.folder);
    const { findings } = checkDocuments(
      documents,
      rules.filter(({ id }) => id.startsWith('G')),
    );
    const differences = findings.filter(({ severity }) => severity !== 'information');
    if (differences.length > 0)
      return [
        `Model: ${plural(differences.length, 'difference')} between ${DESIGN_FILE} and the code:`,
        ...differences.map(
          ({ rule, at, message }) => `  ${shortPath(workspace.directory, at.file)}:${at.line}: ${message} (${rule})`,
        ),
      ];
    const projections = feedReaders(pipeline).length;
    const are = projections === 1 ? 'is' : 'are';
    return documents.design?.projectionsAt
      ? [`Model: ${plural(projections, 'projection')} ${are} as ${DESIGN_FILE} has them`]
      : [`Model: containers and fields are as ${DESIGN_FILE} has them; it has no section of projections`];
  } catch (error) {
    return [`Model: ${DESIGN_FILE} can't be compared: ${messageOf(error)}`];
  }
}
