import { messageOf } from '../../src/base/errors.ts';
import { type Bench, Differs, NotProbed, type Probe } from './probe.ts';

export type Verdict = 'holds' | 'does not hold' | 'not probed';

export interface Finding {
  readonly number: string;
  readonly asks: string;
  readonly verdict: Verdict;
  /** Of what doesn't hold, what was seen; of what wasn't probed, the reason. */
  readonly why?: string;
}

/** Asks one after another, in the order they are given. What fails without a verdict was not probed. */
export async function runProbes(
  probes: readonly Probe[],
  bench: Bench,
  said: (finding: Finding) => void,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const probe of probes) {
    bench.signal.throwIfAborted();
    const { number, asks } = probe;
    const finding = await probe.run(bench).then(
      (): Finding => ({ number, asks, verdict: 'holds' }),
      (error: unknown): Finding => {
        bench.signal.throwIfAborted();
        const why = messageOf(error).split('\n')[0] ?? '';
        if (error instanceof Differs) return { number, asks, verdict: 'does not hold', why };
        return { number, asks, verdict: 'not probed', why: error instanceof NotProbed ? why : `It failed: ${why}` };
      },
    );
    findings.push(finding);
    said(finding);
  }
  return findings;
}
