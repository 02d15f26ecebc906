import type { MillraceError } from '../../base/errors.ts';
import { type PublishSpec, projectionId } from '../../definition/specs.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { EventHubSink } from '../../sinks/event-hub.ts';
import type { DocumentAccess } from '../../sinks/document-access.ts';
import { Poison, type Runner, evaluate } from '../runner.ts';
import { messageOf } from './event.ts';
import { LastPublished } from './published.ts';
import { projectionsError } from '../errors.ts';

export interface PublishRunnerOptions {
  readonly sink: EventHubSink;
  /** Whether a projection writes into the published type, so that its writes come back as changes. */
  readonly echoes: boolean;
  readonly stateContainer: string;
}

/**
 * Publishes changes in their order. It ends only when the hub has the whole page, so at most one page of a range is in
 * flight. It leaves out documents that moved to or from the archive, and deletions of documents whose type is unknown.
 */
export function publishRunner(spec: PublishSpec, { sink, echoes, stateContainer }: PublishRunnerOptions): Runner {
  const id = projectionId(spec);
  const last = echoes ? new LastPublished(stateContainer, id) : undefined;
  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    const relevant = changes.filter(({ restored, typeUnknown }) => restored !== true && !typeUnknown);
    const messages = evaluate(relevant, (change) => messageOf(spec, change));
    const meant = relevant.filter((_, index) => messages[index] !== undefined);
    const changed = new Set(last ? await last.changed(meant, access) : meant);
    const going = relevant.flatMap((change, index) => {
      const message = messages[index];
      return message && changed.has(change) ? [{ change, message }] : [];
    });
    if (going.length === 0) return;
    const oversized = await sink.publish(
      going.map(({ message }) => message),
      access.fence,
    );
    const refusals = going.flatMap(({ change }, index) => {
      const size = oversized.get(index);
      return size ? [{ change, error: tooLarge(sink.hub, size) }] : [];
    });
    if (refusals.length > 0) throw new Poison(refusals);
    await last?.note([...changed], access);
  };
  return { id, order: spec.order, sources: [spec.from], apply };
}

function tooLarge(hub: string, { bytes, limit }: { bytes: number; limit: number }): MillraceError {
  const say = (count: number): string => count.toLocaleString('en-US');
  return projectionsError(
    'event-too-large',
    `The event has ${say(bytes)} bytes; event hub ${hub} accepts ${say(limit)}`,
  );
}
