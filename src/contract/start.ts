// G13: pipelines that a host refuses to start.
import { type Rule, missing, noDesign } from '../model/rules/rule.ts';
import { checkPipeline } from '../pipeline/check/check-pipeline.ts';
import type { Contract } from './declared.ts';

/** The default names of Millrace's own containers, with the settings that change them. */
const OWN_CONTAINERS: Readonly<Record<string, string>> = { leases: 'LEASES_CONTAINER', millrace: 'STATE_CONTAINER' };

/** G1 (names) and G11 (circles) report these findings already, with both places. */
const SAID_BEFORE: ReadonlySet<string> = new Set(['container-unknown', 'type-unknown', 'projection-cycle']);

export function start(contract: Contract): Rule[] {
  return [
    {
      id: 'G13',
      title: 'A host can start with the pipeline',
      why: '`run`, `dev` and the function app check a pipeline against its model before they read a change. They check names and versions, the keys of joins and the archive rules, and run every projection on the document’s examples. Every error of this check is an error of this rule.',
      hint: 'Correct the declaration or the document.',
      *check(facts) {
        const { pipeline, unloadable } = contract;
        if (unloadable) yield unloadable;
        if (!pipeline) {
          if (!unloadable) yield missing('pipeline.ts');
          return;
        }
        const model = facts.design?.model ?? contract.source?.code;
        if (!model) {
          yield noDesign;
          return;
        }
        for (const { code, severity, message, hint, of } of checkPipeline(pipeline, model)) {
          const declared = of === undefined ? undefined : contract.named(of);
          const isSaid = facts.design && SAID_BEFORE.has(code);
          if (severity !== 'error' || (isSaid && (declared || code === 'projection-cycle'))) continue;
          yield { message, at: declared?.at ?? contract.placeOf(of ?? ''), ...(hint !== undefined && { hint }) };
        }
        for (const { name, at } of model.containers) {
          const setting = OWN_CONTAINERS[name];
          if (setting === undefined) continue;
          yield {
            severity: 'warning',
            message: `Container ${name} has the name of one of Millrace’s own containers, and no host starts with both`,
            at,
            hint: `Rename the container. Or set ${setting} to another name and waive this finding.`,
          };
        }
      },
    },
  ];
}
