// What `dev` says when it first rests: whether everything that is derived equals a recomputation.
import { styleText } from 'node:util';
import { systemClock } from '../../base/clock.ts';
import { recordVerified, verifiedName, verifiedOf } from '../../procedures/verify/verified.ts';
import { verifyEvery } from '../../procedures/verify/verify-every.ts';
import { type Verification, type VerifyOptions, formatVerification } from '../../procedures/verify/verify.ts';
import type { Screen } from '../../procedures/screen.ts';
import { plural } from '../../procedures/table.ts';
import { type StageParts, verifyPlaces } from './shards.ts';

/** Above this number of loaded documents the comparison would take long, so it isn't made. */
const MOST_VERIFIED = 100_000;
/** Of documents that differ. */
const MOST_NAMED = 3;

interface VerdictOptions extends Omit<VerifyOptions, 'screen' | 'settings'> {
  readonly screen: Pick<Screen, 'progress' | 'line'>;
  /** How many documents were loaded. */
  readonly loaded: number;
}

/** The comparison of `--once`, while the hosts run. */
export async function sayVerdict(parts: StageParts, { loaded, ...options }: VerdictOptions): Promise<void> {
  const { screen } = options;
  if (loaded > MOST_VERIFIED)
    return screen.line(
      `Not compared with a recomputation: ${plural(loaded, 'document')} are more than ${MOST_VERIFIED.toLocaleString('en-US')}. \`millrace dev --once\` compares them.`,
    );
  const began = systemClock.monotonic();
  const live = { ...options, settings: parts.settings };
  const over = parts.loaded.pipeline.shards !== undefined;
  const found = over
    ? (await verifyPlaces(parts, live)).map(({ verification }) => verification)
    : [await verifyEvery(parts.loaded, parts.services, live)];
  const seconds = Math.round((systemClock.monotonic() - began) / 1_000);
  const { pipeline } = parts.loaded;
  const { place, global } = parts.services;
  const [whole] = found;
  // The dashboard says it too. With shards each place has a result of its own, which isn't recorded here.
  if (whole && !over)
    await recordVerified(
      global.state,
      verifiedName(pipeline, place),
      'whole',
      verifiedOf(whole, { at: new Date(systemClock.now()).toISOString(), actor: 'dev', seconds }),
    );
  screen.line(verdictText(found, seconds));
}

export function verdictText(found: readonly Verification[], seconds: number): string {
  const wrong = found.filter(
    ({ different, moving, deferred = 0, untried }) => different + moving + deferred > 0 || untried,
  );
  if (wrong.length > 0) return wrong.map(briefly).join('\n');
  const documents = found.reduce((sum, of) => sum + of.documents.found, 0);
  if (documents === 0 && found.some(({ projections }) => projections.length > 0))
    return 'Nothing is derived yet: no projection has a document of what was loaded.';
  return `${styleText('green', 'All right', { stream: process.stdout })}: ${plural(documents, 'document')} ${documents === 1 ? 'equals' : 'equal'} a recomputation (${seconds} s)`;
}

/** It comes again at each edit, so it is short. */
function briefly(found: Verification): string {
  const names = new Set(found.differences.flatMap(({ projections }) => projections));
  const command = ['millrace projections verify', ...(names.size === 1 ? names : [])].join(' ');
  return formatVerification(found, {
    most: MOST_NAMED,
    shows: `\`${command}\` shows more`,
  });
}
