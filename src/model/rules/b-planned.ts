// B28 and B29: throughput that a table or a program plans for containers.
import type { Design } from '../documents.ts';
import type { Place } from '../model.ts';
import { creationsIn } from './creations.ts';
import type { Facts } from './facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing, more, n, together } from './rule.ts';
import { linesSaying } from './said.ts';

interface Planned {
  readonly name: string;
  readonly ru: number;
  readonly at: Place;
}

/** The least manual throughput of a container (ASM-E98). */
const LEAST = 400;
/** A table of what requests take, or of what containers share. */
const TAKEN =
  /\b(?:use[sd]?|usage|consum\w*|load|peak|average|avg|estimated?|actual|shared?|cost|per (?:operation|request)|query|operation|reads?|writes?|provisioned by)\b|使用|消費|予想|実績/i;
const RATE = /^\D{0,4}(?<ru>\d[\d,]*) ?RU\/s\b[^\d]*$/i;

const cellsOf = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.replaceAll(/[*`]/g, '').trim());

/** `| orders | 150 RU/s |` below a head that plans throughput. */
function rowsIn({ containers }: Facts, { lines, file }: Design): Planned[] {
  const names = new Set(containers.map(({ container }) => container.name));
  return lines.flatMap((line, index): Planned[] => {
    if (!line.startsWith('|') || !line.includes('RU')) return [];
    const [name = '', ...cells] = cellsOf(line);
    if (!names.has(name)) return [];
    const begin = lines.slice(0, index).findLastIndex((text) => !text.startsWith('|')) + 1;
    const head = cellsOf(lines[begin] ?? '');
    return cells.flatMap((cell, at): Planned[] => {
      const ru = RATE.exec(cell)?.groups?.['ru'];
      const over = head[at + 1] ?? '';
      return ru !== undefined && /RU|throughput|スループット/i.test(over) && !TAKEN.test(over)
        ? [{ name, ru: Number(ru.replaceAll(',', '')), at: { file, line: index + 1 } }]
        : [];
    });
  });
}

/** Throughput of its own that a container gets, by the design or by a program. */
function ownOf(facts: Facts, design: Design): Planned[] {
  const stated = facts.containers.flatMap((detail): Planned[] => {
    const { name, throughput } = detail.container;
    return throughput?.kind === 'manual' ? [{ name, ru: throughput.max, at: facts.place(detail, 'throughput') }] : [];
  });
  const created = creationsIn(design).flatMap(({ detail, at, lines }): Planned[] => {
    const offset = lines.findIndex((line) => THROUGHPUT.test(line));
    const ru = Number(THROUGHPUT.exec(lines[offset] ?? '')?.groups?.['ru']);
    return offset < 0 ? [] : [{ name: detail.container.name, ru, at: { ...at, line: at.line + offset } }];
  });
  const known = new Set(stated.map(({ name }) => name));
  return [...stated, ...created.filter(({ name }) => !known.has(name))];
}
const THROUGHPUT = /(?:--throughput[ =]|\b(?:offer_?)?throughput["']?\s*[:=]\s*)(?<ru>\d+)\b/i;

/** Fewer containers cost little more alone than together. */
const MANY = 4;
const REASON =
  /\bRPS\b|\b(?:requests|reads|writes|operations|queries) ?(?:\/|per|a) ?s(?:ec(?:ond)?)?\b|\bfree[- ]tier\b|\bshar(?:e|es|ed|ing)\b[^.|]{0,30}\bthroughput\b|\bdatabase[- ]level\b|\bdedicated\b[^.|]{0,60}\b(?:because|since|so that|isolat\w*|noisy|predictab\w*)|共有スループット/i;

export const PLANNED: readonly Rule[] = [
  {
    id: 'B28',
    title: 'Throughput that a table plans for a container is one that the service accepts',
    severity: 'error',
    source: SOURCES.microsoft('Azure Cosmos DB service quotas and default limits'),
    why: 'A container with throughput of its own has at least 400 RU/s (ASM-E98); 150 RU/s is refused. Less than that is possible only as a part of what the containers of a database share. The rule reads rows that begin with a container’s name, below a head that plans throughput. It passes over tables of what requests use. B13 checks the throughput in a container’s own section.',
    hint: 'Give each container 400 RU/s or more, or share the throughput of the database.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const all = rowsIn(facts, design);
      if (all.length === 0) {
        yield missing('a table of throughput by container');
        return;
      }
      const low = all.filter(({ ru }) => ru < LEAST);
      yield* together(
        low,
        `${low.map(({ name, ru }) => `${name} ${n(ru)} RU/s`).join(', ')}: a container with throughput of its own has at least ${LEAST}`,
      );
    },
  },
  {
    id: 'B29',
    title: 'Many containers of a small application aren’t billed for idle throughput',
    severity: 'warning',
    source: SOURCES.microsoft('How to choose between manual and autoscale on Azure Cosmos DB'),
    why: 'Each container with the least manual throughput, 400 RU/s, is billed for it all day, whether anybody asks or not. Autoscale with a maximum of 1,000 RU/s bills 100 while nothing happens, and a serverless account bills only requests (ASM-E98, ASM-E145). Containers of a database can share throughput too; Microsoft advises against that for most workloads (ASM-E144). The rule asks if four containers or more have 400 RU/s each, and the document states neither a rate nor a reason. It is silent about documents that count on the free tier (B21), or have autoscale too.',
    hint: 'Choose serverless, or autoscale from 1,000 RU/s. Or state the rates that need 400 RU/s in each container.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const own = ownOf(facts, design);
      if (own.length < MANY) {
        yield missing('four containers with throughput of their own');
        return;
      }
      const least = own.filter(({ ru }) => ru === LEAST);
      const [first] = least;
      const isChosen =
        facts.patterns.length > 0 ||
        facts.containers.some(({ container }) => container.throughput?.kind === 'autoscale') ||
        linesSaying(design, REASON).length > 0;
      if (first && least.length >= MANY && least.length === own.length && !isChosen)
        yield* together(
          least,
          `${first.name}${more(least.length - 1)} have ${LEAST} RU/s each, ${n(LEAST * least.length)} in all; billed all day, and no rate is stated that needs them`,
          least.map(({ name }) => facts.detail(name)?.container.at ?? first.at),
        );
    },
  },
];
