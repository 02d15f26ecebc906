import type { Context } from '../context.ts';
import { plural } from '../table.ts';
import type { LoadedPipeline, Services } from '../../runtime/workspace.ts';
import { faultsOf, readArchiveVerified, sayArchiveVerified } from '../archive/verified.ts';
import { type Verified, isAgainstRight, readAgainst, readLast, sayAgainst, verifiedName } from '../verify/verified.ts';
import { type DoctorFinding, bad, doubtful, good } from './finding.ts';

/** Verify each week; a day is left for it to run. */
const UNVERIFIED_MS = 8 * 86_400_000;

export async function verification(
  { place, global: { state } }: Services,
  { pipeline }: LoadedPipeline,
): Promise<DoctorFinding[]> {
  const own = verifiedName(pipeline, place);
  const { whole, sample, differing: wrong } = await readLast(state, pipeline.name, own);
  const remedy = 'Run `millrace projections verify`, each week for example.';
  const last = whole ?? sample;
  if (!last) return [doubtful('verification', 'the projections have not been verified yet', remedy)];
  if (wrong.length > 0)
    return wrong.map(({ result: { at, different, differences } }) =>
      bad(
        'verification',
        `${plural(different, 'difference')} at ${at}, in ${Object.keys(differences).join(', ')}`,
        'Run `millrace projections verify` to see them, and add `--repair` to correct them.',
      ),
    );
  if (whole && whole.different > 0)
    return [
      doubtful(
        'verification',
        `${plural(whole.different, 'difference')} at ${whole.at} in ${Object.keys(whole.differences).join(', ')}, which is replaced`,
        remedy,
      ),
    ];
  // What is parked or refused can't differ.
  if (last.compared === 0 && last.sources > 0 && last.left?.length)
    return [doubtful('verification', `nothing was compared at ${last.at}: ${last.left.join('; ')}`, NOTHING_COMPARED)];
  if (!whole)
    return [
      doubtful('verification', `a sample had ${noDifference(last)}; all documents have not been verified yet`, remedy),
    ];
  if (Date.now() - Date.parse(whole.at) > UNVERIFIED_MS)
    return [doubtful('verification', `the last one ended at ${whole.at}, more than a week ago`, remedy)];
  return [good('verification', noDifference(whole))];
}

const NOTHING_COMPARED = 'See `millrace dead-letters list`, and verify again once the cause is fixed.';

const noDifference = ({ at, compared, left = [] }: Pick<Verified, 'at' | 'compared' | 'left'>): string =>
  [`no difference in ${plural(compared, 'sink document')} at ${at}`, ...left].join('; ');

/** The last ones with copies that a team keeps by hand, if they found something. */
export async function comparisons(
  { place, global: { state } }: Services,
  { pipeline }: LoadedPipeline,
  { signal }: Context,
): Promise<DoctorFinding[]> {
  const last = await readAgainst(state, verifiedName(pipeline, place), signal);
  return last
    .filter((one) => !isAgainstRight(one))
    .map((one) =>
      bad(
        'verification',
        sayAgainst(one),
        'Run `millrace projections verify NAME --against CONTAINER` again to see them, and correct the copy or pipeline.ts.',
      ),
    );
}

export async function archiveVerification(
  { place, global: { state } }: Services,
  { pipeline }: LoadedPipeline,
): Promise<DoctorFinding[]> {
  const last = await readArchiveVerified(state, verifiedName(pipeline, place));
  if (pipeline.archives.length === 0 || !last) return [];
  if (faultsOf(last) === 0) return [good('archive', `no fault at ${last.at}`)];
  return [bad('archive', sayArchiveVerified(last), 'Run `millrace archive verify` to see every fault.')];
}
