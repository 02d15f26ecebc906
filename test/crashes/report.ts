import { expect, it } from 'vitest';
import { type Scenario, crashes } from '../support/crashes.ts';

/** MILLRACE_SHARE=40: a fortieth of all runs, which the commit chooses; `.ci/run` takes so many, for three minutes. */
const SHARE = Number(process.env['MILLRACE_SHARE'] ?? 1);

/** A test of a scenario, which prints how many crash points there are. */
export const crash = (scenario: Scenario): void =>
  it(`${scenario.name}: right after every crash`, async () => {
    const { name, seed, boundaries, writes, single, pairs, allPairs, errors, failures } = await crashes(
      scenario,
      SHARE,
    );
    const said = [...errors].map(([code, n]) => `, ${code} ${n}`).join('');
    console.log(
      `${name}: ${boundaries} boundaries (${writes} writes), ${single} runs of one fault, ${pairs} of ${allPairs} of two, seed ${seed}${said}`,
    );
    expect(failures).toEqual([]);
  });
