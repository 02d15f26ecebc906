import type { Finding, Verdict } from './run-probes.ts';

export interface Report {
  /** What was asked: `azure westeurope`, `embedded`, an address. */
  readonly target: string;
  readonly at: string;
  readonly counts: Readonly<Record<Verdict, number>>;
  readonly findings: readonly Finding[];
}

export function reportOf(target: string, at: Date, probed: readonly Finding[]): Report {
  const findings = probed.toSorted((a, b) => place(a.number) - place(b.number));
  const count = (of: Verdict): number => findings.filter(({ verdict }) => verdict === of).length;
  const counts = {
    holds: count('holds'),
    'does not hold': count('does not hold'),
    'not probed': count('not probed'),
  };
  return { target, at: at.toISOString(), counts, findings };
}

/** As docs/assumptions.md has them. */
const place = (number: string): number => {
  const [letter = '', ...digits] = number.replace('ASM-', '');
  return 'AEHF'.indexOf(letter) * 1_000 + Number(digits.join(''));
};

export const lineOf = ({ number, verdict, why }: Finding): string =>
  `${number.padEnd(8)} ${verdict.padEnd(13)} ${why ?? ''}`.trimEnd();

/** docs/azure-run.md with a run as the line of where it was. */
export function recorded(page: string, { target, at, counts }: Report, by: string): string {
  const where = target.startsWith('azure ') ? 'Azure' : 'the official Linux emulator';
  const cells = [where, at.slice(0, 10), by, ...Object.values(counts)];
  const line = new RegExp(`^\\| ${where} \\|.*$`, 'm');
  if (!line.test(page)) throw new Error(`The table has no line for ${where}`);
  return page.replace(line, `| ${cells.join(' | ')} |`);
}

/** A table for docs/assumptions.md and for the summary of a workflow: what was probed. */
export function markdownOf({ target, at, counts, findings }: Report): string {
  const rows = findings.map(
    ({ number, asks, verdict, why = '' }) => `| ${number} | ${asks} | ${verdict} | ${why.replaceAll('|', '\\|')} |`,
  );
  const summary = Object.entries(counts).map(([verdict, count]) => `${count} ${verdict}`);
  return `${target}, ${at.slice(0, 10)}: ${summary.join(', ')}\n\n| | | verdict | |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}
