// G4 and G10: the largest cost of keeping a projection fresh, and its lag.
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
      title: 'The largest fan-out fits the sink’s throughput',
      severity: 'error',
      source: SOURCES.ours,
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
      title: 'A projection is as fresh as its patterns need',
      severity: 'error',
      source: SOURCES.ours,
      why: 'If a pattern accepts a delay of 5 s, its projection has a max lag of at most 5 s. A projection can’t serve a pattern that needs strong consistency or its own writes immediately. Code and document state the same max lag.',
      hint: 'Lower the max lag. Or check with the owner how fresh the data must be.',
      needs: [anyProjection(contract)],
      *check(facts) {
        for (const row of facts.rows) {
          const declared = contract.named(row.name);
          const code = declared?.maxLag === undefined ? undefined : duration(declared.maxLag);
          if (declared && code !== undefined && row.lagMs !== undefined && code !== row.lagMs)
            yield {
              message: `${row.name}: the max lag is ${row.lagText} in the document, but ${declared.maxLag ?? ''} in the code`,
              hint: 'Correct the document or the code.',
              words: row.lagText,
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
              message: `${row.name}: the document states a max lag of ${row.lagText}, but the code states none`,
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
                message: `Pattern ${pattern.printed} "${quoted(pattern.description)}" needs to see writes immediately, but ${row.name} has a lag`,
                at: row.at,
                related: [pattern.at],
              };
            const found = TOLERANCE.exec(text)
              ?.slice(1)
              .find((part) => part !== undefined);
            const tolerance = found === undefined ? undefined : duration(found);
            if (tolerance !== undefined && row.lagMs !== undefined && row.lagMs > tolerance)
              yield {
                message: `Pattern ${pattern.printed} accepts a delay of ${found ?? ''}, but ${row.name} may be ${row.lagText} behind`,
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
