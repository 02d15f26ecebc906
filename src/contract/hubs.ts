// G20: events go to the hub that the document names, and not back into the pipeline.
import { type Rule, SOURCES } from '../model/rules/rule.ts';
import type { Contract } from './declared.ts';
import { noPipeline } from './existence.ts';

/** Names that differ only in case are taken for one hub. */
const isSame = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

export function hubs(contract: Contract): Rule[] {
  return [
    {
      id: 'G20',
      title: 'Events are published to the hub that the document names, and not to one that the pipeline reads',
      severity: 'error',
      source: SOURCES.ours,
      why: 'Consumers read the hub that the document names, and get no event from another one. An event in the hub that an ingest of the same pipeline reads comes back: as a document, whose change is published again, or as a dead letter for each event.',
      hint: 'Correct the hub in the code or in the document.',
      *check(facts) {
        const { pipeline } = contract;
        if (!pipeline) {
          yield noPipeline;
          return;
        }
        for (const { name, to } of pipeline.publishes) {
          const declared = contract.named(name);
          if (!declared) continue;
          const at = contract.at(declared, to);
          const row = facts.rows.find((one) => one.name === name);
          const path = /\b(?:event[ -]?hub)s?\s*[:/]\s*`?([\w./-]+)/i.exec(row?.sinkText ?? '')?.[1];
          const stated = path
            ?.replace(/[./]+$/, '')
            .split('/')
            .at(-1);
          if (row && stated !== undefined && !isSame(stated, to))
            yield {
              message: `${name} publishes to the hub ${stated} in the document, but to ${to} in the code`,
              at: row.at,
              words: stated,
              related: [at],
            };
          const reader = pipeline.ingests.find(({ from }) => isSame(from, to));
          if (reader)
            yield {
              message: `${name} publishes to the hub ${to}, which ${reader.name} reads: each event comes back`,
              at,
              related: [contract.placeOf(reader.name)],
            };
        }
      },
    },
  ];
}
