import type { RecordedStart } from '../../engine/views/starts.ts';
import { openStarts } from '../../runtime/open-engine.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

/** Where a projection begins, for tables and sentences: `now` is the time that it was. */
export const sayBegin = ({ start, at }: RecordedStart): string => (start === 'now' ? at : start);

/** The same of a projection that begins later than the beginning; records its start if no host has. */
export async function beginOf(
  services: Pick<Services, 'place' | 'global'>,
  { pipeline }: Pick<LoadedPipeline, 'pipeline'>,
  id: string,
): Promise<string | undefined> {
  const start = (await openStarts(services, pipeline).recorded())[id];
  return start && start.start !== 'beginning' ? sayBegin(start) : undefined;
}
