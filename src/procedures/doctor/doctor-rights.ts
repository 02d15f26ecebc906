import { randomUUID } from 'node:crypto';
import { GIVE_DATA_ROLE, failureOf } from '../../cosmos/failure.ts';
import { withRetry } from '../../cosmos/retry.ts';
import { projectionId } from '../../pipeline/specs.ts';
import { feedReaders, sourcesOf } from '../../pipeline/pipeline.ts';
import { type DoctorFinding, bad, failedFinding, good } from './finding.ts';
import { placeDatabase } from '../../runtime/place-containers.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';

interface Use {
  readonly doing: 'write' | 'read';
  readonly container: string;
  readonly by: string;
}

/**
 * Checks whether this identity may read the pipeline's sources and write its sinks, by reading and by deleting a document
 * that does not exist. That changes nothing, and no feed shows it.
 */
export async function containerRights(
  { pipeline, model }: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Pick<Services, 'place' | 'global'>,
): Promise<DoctorFinding[]> {
  const database = placeDatabase(pipeline, services);
  const uses = [
    ...[...pipeline.projections, ...pipeline.embeds, ...pipeline.ingests].map((spec): Use => ({
      doing: 'write',
      container: spec.into.container,
      by: projectionId(spec),
    })),
    ...pipeline.archives.map((spec): Use => ({
      doing: 'write',
      container: spec.from.container,
      by: projectionId(spec),
    })),
    ...feedReaders(pipeline).flatMap((spec) =>
      sourcesOf(spec).map(({ container }): Use => ({ doing: 'read', container, by: projectionId(spec) })),
    ),
  ];
  const findings: DoctorFinding[] = [];
  for (const doing of ['write', 'read'] as const) {
    const asked = uses.filter((use) => use.doing === doing);
    for (const [name, of] of Map.groupBy(asked, ({ container }) => container)) {
      const levels = model.containers.find((container) => container.name === name)?.partitionKey.length ?? 1;
      const item = database.container(name).item(`doctor-${randomUUID()}`, Array<string>(levels).fill('doctor'));
      try {
        await withRetry<unknown>(() => (doing === 'write' ? item.delete() : item.read()), { reads: true });
      } catch (error) {
        const { kind } = failureOf(error);
        // The check `containers` reports a missing container.
        if (kind === 'not-found') continue;
        const users = [...new Set(of.map(({ by }) => by))].join(', ');
        findings.push(
          kind === 'denied'
            ? bad('rights', `this identity may not ${doing} in ${name}; ${users} must`, GIVE_DATA_ROLE)
            : failedFinding('rights', error),
        );
      }
    }
  }
  return findings.length > 0 ? findings : [good('rights', 'this identity may read the sources and write the sinks')];
}
