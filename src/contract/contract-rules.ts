// Groups G, H and I: compare the code with the document, in both directions.
import type { Rule } from '../model/rules/rule.ts';
import { compareIds } from '../model/rules/index.ts';
import type { Pipeline } from '../pipeline/specs.ts';
import { Contract, type PipelineSource, type Unloadable } from './declared.ts';
import { agreement } from './agreement.ts';
import { constants } from './constants.ts';
import { existence } from './same-projections.ts';
import { fields } from './fields.ts';
import { ingests } from './ingests.ts';
import { keys } from './keys.ts';
import { aggregatesAndArchives } from './aggregates-and-archives.ts';
import { loadRules } from './load.ts';
import { modelCode } from './model-code.ts';
import { rows } from './rows.ts';
import { shards } from './shards.ts';
import { start } from './start.ts';
import { tenancy } from './tenancy.ts';

/** Without a pipeline the rules check only the document's section, and report what they couldn't check. */
export function contractRules(pipeline?: Pipeline, source?: PipelineSource, unloadable?: Unloadable): Rule[] {
  const contract = new Contract(pipeline, source, unloadable);
  return [
    agreement,
    existence,
    fields,
    keys,
    aggregatesAndArchives,
    loadRules,
    modelCode,
    start,
    tenancy,
    shards,
    rows,
    constants,
    ingests,
  ]
    .flatMap((rules) => rules(contract))
    .toSorted((a, b) => compareIds(a.id, b.id));
}
