// Each literal of the shipped examples is load-bearing: a rule, a refusal or a meaning notices each change of it. The suite
// takes the smallest example; MILLRACE_HISTORIES takes all of them.
import { expect, test } from 'vitest';
import { parseDesign } from '../../../src/model/reader/design.ts';
import { parseRequirements } from '../../../src/model/reader/requirements.ts';
import { withoutTypes } from '../../../src/testing/prove/without-types.ts';
import { killScore } from '../../../src/testing/mutants/kill.ts';
import { NAMES, pipelineOf, textsOf } from '../../model/example-texts.ts';

const EXAMPLES =
  process.env['MILLRACE_HISTORIES'] === undefined ? ['telemetry'] : ['telemetry', 'flights', 'storefront'];

test.each(EXAMPLES)('%s: nothing is unnoticed', { timeout: 900_000 }, async (example) => {
  const texts = textsOf(example);
  const design = parseDesign(texts.design, NAMES.design);
  const requirements = parseRequirements(texts.requirements, NAMES.requirements);
  const text = withoutTypes(texts.pipeline);
  const { mutants, noticed, survivors } = await killScore(
    {
      documents: { design, requirements },
      pipeline: pipelineOf(text),
      source: { file: NAMES.pipeline, text },
      parser: undefined,
    },
    {
      seed: 1,
      seconds: 900,
      signal: new AbortController().signal,
      load: (changed) => Promise.resolve(pipelineOf(changed)),
      progress: () => undefined,
    },
  );
  expect(survivors).toEqual([]);
  expect(noticed).toBe(mutants);
  expect(mutants).toBeGreaterThan(100);
});
