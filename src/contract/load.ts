// G4 and G10: what keeping it fresh costs at the worst, and how fresh it is.
import { duration } from '../model/reader/quantity.ts';
import { fanOuts } from '../definition/fan-outs.ts';
import { type Rule, SOURCES, missing, n, quoted } from '../model/rules/rule.ts';
import type { Contract } from './declared.ts';
import { SECTION, anyProjection } from './existence.ts';

const TOLERANCE =
  /(?:may|can) be (?:up to )?([\d.]+ ?(?:ms|s|min|minutes?|h|hours?|d|days?))(?:econds)? (?:old|behind|stale)|within ([\d.]+ ?(?:ms|s|min|minutes?|h|hours?|d|days?))\b[^;]*(?:fresh|visible|follow)|([\d.]+ ?(?:ms|s|min|h|d)) (?:stale|behind|old)/i;

export function load(contract: Contract): Rule[] {
  return [
    {
      id: 'G4',
      title: 'The fan-out at its largest fits the sink’s throughput',
      severity: 'error',
      source: SOURCES.ours,
      why: 'Updates a second × copies at the largest cardinality, not the average, × RU of a replace, against what the sink’s maximum leaves beside its other load. One rename of the largest customer is what pages people at night.',
      mend: 'Raise the sink’s maximum, copy less, or waive it with the rate that is real for the largest.',
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
                message: `${row.name}: updates of ${of.type ?? of.container} take up to ${n(need)} RU/s of ${sink.container.name}, which has ${n(Math.max(0, rest))} left`,
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
      title: 'A projection is as fresh as its patterns need',
      severity: 'error',
      source: SOURCES.ours,
      why: 'A pattern that accepts 5 s is served by a projection whose lag is 5 s at most; one that wants strong consistency or its own writes at once is served by no projection. The lag of code and document are the same.',
      mend: 'Lower the lag, or ask whether the pattern needs it.',
      needs: [anyProjection(contract)],
      *check(facts) {
        for (const row of facts.rows) {
          const declared = contract.named(row.name);
          const code = declared?.maxLag === undefined ? undefined : duration(declared.maxLag);
          if (declared && code !== undefined && row.lagMs !== undefined && code !== row.lagMs)
            yield {
              message: `${row.name}: the lag is ${row.lagText} in the document and ${declared.maxLag ?? ''} in the code`,
              at: row.at,
              related: [contract.at(declared, 'maxLag')],
            };
          if (
            declared &&
            code === undefined &&
            row.lagMs !== undefined &&
            !('maxLag' in declared.spec) &&
            (declared.kind === 'copy' || declared.kind === 'aggregate')
          )
            yield {
              severity: 'warning',
              message: `${row.name}: the document states a lag of ${row.lagText}, the code none`,
              at: declared.at,
              related: [row.at],
            };
          if (row.lagMs === undefined) yield missing(`the max lag of ${row.name}`);
          for (const id of row.serves) {
            const pattern = facts.pattern(id);
            if (!pattern) continue;
            const text = `${pattern.requirements} ${pattern.considerations}`;
            if (
              row.kind !== 'archive' &&
              /strong(ly)? consisten|read[- ]your[- ](own )?writes?|immediately consistent|强一致/i.test(text)
            )
              yield {
                message: `Pattern ${pattern.printed} "${quoted(pattern.description)}" wants to see writes at once, and ${row.name} is behind`,
                at: row.at,
                related: [pattern.at],
              };
            const found = TOLERANCE.exec(text)
              ?.slice(1)
              .find((part) => part !== undefined);
            const tolerance = found === undefined ? undefined : duration(found);
            if (tolerance !== undefined && row.lagMs !== undefined && row.lagMs > tolerance)
              yield {
                message: `Pattern ${pattern.printed} accepts ${found ?? ''}; ${row.name} may be ${row.lagText} behind`,
                at: row.at,
                evidence: `${n(row.lagMs / 1000)} s > ${n(tolerance / 1000)} s`,
                related: [pattern.at],
              };
          }
        }
      },
    },
  ];
}
