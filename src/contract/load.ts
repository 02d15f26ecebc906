// G4 and G10: the largest cost of keeping a projection fresh, and its lag.
import { fanOuts } from '../pipeline/fan-outs.ts';
import { type Rule, missing, n } from '../model/rules/rule.ts';
import { differencesOf } from './columns.ts';
import type { Contract } from './declared.ts';
import { SECTION, anyProjection } from './same-projections.ts';

export function loadRules(contract: Contract): Rule[] {
  return [
    {
      id: 'G4',
      title: 'The largest fan-out fits the sink’s throughput',
      why: 'The fan-out needs updates a second × copies × RU of a replace, with the largest number of copies and not the average. The sink must have this throughput in addition to its other load. For example, a rename of the largest customer updates all of its orders.',
      hint: 'Raise the sink’s maximum, or copy fewer fields. Or waive the finding, and state the real update rate of the largest.',
      needs: [SECTION],
      *check(facts) {
        const joined = facts.rows.filter(({ joins, sink }) => joins.length > 0 && sink);
        if (joined.length === 0) {
          yield missing('a projection that joins');
          return;
        }
        for (const row of joined) {
          const sink = facts.detail(row.sink?.container);
          const max = sink?.container.throughput?.max;
          if (!sink || max === undefined) {
            yield missing(`the throughput of ${row.sink?.container ?? row.name}`);
            continue;
          }
          for (const { of, updates, copies, ru, rows } of fanOuts(facts, row, sink)) {
            if (copies === undefined) {
              yield missing(
                `the largest number of ${row.source?.type ?? ''} of one ${of.type ?? of.container} (entity relationships)`,
              );
              continue;
            }
            const need = updates * copies * ru;
            const rest = max - facts.peak(sink);
            if (need > rest)
              yield {
                message: `${row.name}: updates of ${of.type ?? of.container} need up to ${n(need)} RU/s of ${sink.container.name}, which has ${n(Math.max(0, rest))} left`,
                at: row.at,
                evidence: `${n(updates)}/s (pattern ${rows.map((access) => access.row.printed).join(', ')}) × ${n(copies)} copies × ${n(ru)} RU = ${n(need)} RU/s > ${n(max)} − ${n(facts.peak(sink))}`,
                related: [facts.place(sink, 'throughput')],
              };
          }
        }
      },
    },
    {
      id: 'G10',
      title: 'Code and document state the same max lag',
      why: 'Readers rely on the max lag that the document states, and alerts are raised by the one in the code.',
      hint: 'Correct the document or the code.',
      needs: [anyProjection(contract)],
      *check(facts) {
        yield* differencesOf('G10', facts, contract);
        for (const row of facts.rows) if (row.lagMs === undefined) yield missing(`the max lag of ${row.name}`);
      },
    },
  ];
}
