import { type ArchiveSpec, projectionId } from '../../pipeline/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { type Runner, evaluate, lastOfEach } from '../runner.ts';
import { Entries, forEach } from './entries.ts';

/**
 * The live half of an archive on the latest-version feed (ARC-H15). It archives nothing: it voids the entries of documents
 * that changed or were deleted. A sweep moves documents out of the container (src/archive). With the all-versions feed
 * `liveHalf` has kept the entries before any runner gets the page.
 */
export function archiveRunner(spec: ArchiveSpec, { stateContainer }: { readonly stateContainer: string }): Runner {
  const id = projectionId(spec);
  const entries = new Entries(stateContainer);
  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    evaluate(changes, (change) => change);
    // A document that an earlier feed of the pipeline let leave is no newer version.
    const live = lastOfEach(changes).filter(({ operation, leaving }) => operation === undefined && !leaving?.intact);
    await forEach(live, (change) => entries.annul(id, change, access));
  };
  return { id, order: 'document', sources: [spec.from], apply };
}
