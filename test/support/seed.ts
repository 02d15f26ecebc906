import { execFileSync } from 'node:child_process';
import { createHash, randomInt } from 'node:crypto';

/**
 * The first seed of a random test: MILLRACE_SEED where it is set, otherwise drawn from the commit, so that two runs of
 * one commit try the same histories, and every commit tries new ones. Outside a git checkout it is random.
 */
export function suiteSeed(): number {
  const given = process.env['MILLRACE_SEED'];
  if (given !== undefined) return Number(given);
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return createHash('sha256').update(commit).digest().readUInt32BE() % 1_000_000_000;
  } catch {
    return randomInt(1_000_000_000);
  }
}
