import { type ArchiveSpec, projectionId } from '../../definition/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { SinkSession } from '../../sinks/session.ts';
import { type Runner, evaluate, lastOfEach } from '../runner.ts';
import { Entries, forEach } from './entries.ts';

/**
 * The live half of an archive (R11 step 4): it archives nothing, it voids the entries of documents that changed or were
 * deleted. What leaves the container is a sweep's business (src/archive).
 */
export function archiveRunner(spec: ArchiveSpec, stateContainer: string): Runner {
  const id = projectionId(spec);
  const entries = new Entries(stateContainer);
  const apply = async (changes: readonly Change[], session: SinkSession): Promise<void> => {
    evaluate(changes, (change) => change);
    const live = lastOfEach(changes).filter(({ op }) => op !== 'archive');
    await forEach(live, (change) => entries.annul(id, change, session));
  };
  return { id, order: 'document', sources: [spec.from], apply };
}
