// G13: what a host refuses at its start.
import { type Rule, SOURCES, missing, noDesign } from '../model/rules/rule.ts';
import { checkPipeline } from '../definition/check/check-pipeline.ts';
import type { Contract } from './declared.ts';

/** Names that Millrace's own containers have unless the settings say otherwise. */
const OWN_CONTAINERS: Readonly<Record<string, string>> = { leases: 'LEASES_CONTAINER', millrace: 'STATE_CONTAINER' };

/** What G1 (names) and G11 (circles) say of a declaration, with the line of the other half. */
const SAID_BEFORE: ReadonlySet<string> = new Set(['container-unknown', 'type-unknown', 'projection-cycle']);

export function start(contract: Contract): Rule[] {
  return [
    {
      id: 'G13',
      title: 'A host starts with the pipeline',
      severity: 'error',
      source: SOURCES.ours,
      why: '`run`, `dev` and the function app hold a pipeline against its model before they read a change: names and versions, keys that a join covers, rules that can be read, and every projection worked out on the document’s own examples. What they refuse is an error here.',
      mend: 'Mend the declaration, or the document.',
      *check(facts) {
        const { pipeline, unloadable } = contract;
        if (unloadable) yield unloadable;
        if (!pipeline) {
          if (!unloadable) yield missing('pipeline.ts');
          return;
        }
        if (!facts.design) {
          yield noDesign;
          return;
        }
        const { model } = facts.design;
        for (const { code, severity, message, mend, of } of checkPipeline(pipeline, model)) {
          const declared = of === undefined ? undefined : contract.named(of);
          if (severity !== 'error' || (SAID_BEFORE.has(code) && (declared || code === 'projection-cycle'))) continue;
          yield { message, at: declared?.at ?? contract.placeOf(of ?? ''), ...(mend !== undefined && { mend }) };
        }
        for (const { name, at } of model.containers) {
          const setting = OWN_CONTAINERS[name];
          if (setting === undefined) continue;
          yield {
            severity: 'warning',
            message: `Container ${name} has the name that a container of Millrace’s own has, and no host starts with both`,
            at,
            mend: `Rename it, or give Millrace’s own another name by ${setting} and waive this.`,
          };
        }
      },
    },
  ];
}
