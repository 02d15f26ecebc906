import type { ArchiveVerification } from '../../archive/types.ts';
import { verifyArchive } from '../../archive/verify.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import type { Screen } from '../screen.ts';
import { assertArchivedTenant } from './of-tenant.ts';
import { openArchives } from './open.ts';

export interface VerifyArchives {
  /** One archive; default: all. */
  readonly only?: string | undefined;
  readonly tenant?: string | undefined;
  /** Blobs of each archive; default: all. */
  readonly sample?: number | undefined;
  readonly signal: AbortSignal;
  readonly screen: Pick<Screen, 'line' | 'progress'>;
}

/** Verifies the archives of a pipeline, one after the other. */
export async function verifyArchives(
  loaded: Pick<LoadedPipeline, 'pipeline' | 'model'>,
  services: Services,
  { only, tenant, sample, signal, screen }: VerifyArchives,
): Promise<ArchiveVerification[]> {
  const opened = await openArchives(loaded, services, { only, signal, screen });
  await assertArchivedTenant(opened, tenant);
  const results: ArchiveVerification[] = [];
  for (const archive of opened) {
    const progress = (blobs: number): void => screen.progress(`${archive.spec.name}: blobs read`, blobs);
    results.push(await verifyArchive(archive, { signal, tenant, sample, progress }));
  }
  return results;
}
