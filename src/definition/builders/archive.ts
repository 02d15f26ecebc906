import { parseDate } from '../date.ts';
import { type Declaration, error, milliseconds, nameFindings, plain } from '../declaration.ts';
import type { ArchiveRule, ArchiveSpec, Doc, Finding, SourceRef } from '../specs.ts';
import type { Type } from '../types.ts';

/** What `archive` takes; S the documents that leave. */
export interface ArchiveOptions<S extends object> {
  readonly from: Type<S>;
  /**
   * Field with the date that the rule and the blob's period go by: `2001-02-01`, `2001/02/01`, either with a time, or a
   * number of seconds or milliseconds since 1970. Without a zone it is UTC. A document without the field stays.
   */
  readonly date: keyof S & string;
  /** Leaves once the date is that long ago: `90d`, `12 h`. */
  readonly after?: string;
  /** Leaves if the date is earlier than this one. */
  readonly before?: string;
  /** Leaves only if this holds too; may stand alone. */
  readonly where?: (doc: S) => boolean;
  /** Field whose value parts the blobs; default the pipeline's tenant. */
  readonly tenant?: keyof S & string;
  /** A whole number from 1 on; default 1. What another version has archived stays where it is, and is read as well. */
  readonly version?: number;
}

/** The same as the implementation sees it. */
interface Untyped extends Omit<ArchiveOptions<Doc>, 'from'> {
  readonly from: SourceRef;
}

/** Documents that leave their container for Blob Storage, by a rule; nothing derived from them is taken back. */
export function archive<S extends object>(name: string, spec: ArchiveOptions<S>): Declaration<ArchiveSpec>;
export function archive(name: string, spec: Untyped): Declaration<ArchiveSpec> {
  const { from, date, where, tenant, version = 1 } = spec;
  const findings = nameFindings(name, version);
  if (typeof date !== 'string' || date === '') {
    findings.push(
      error(
        'archive-date',
        `Archive ${name} names no date field`,
        `Write date: 'completedAt', a field of its documents.`,
      ),
    );
  }
  return {
    kind: 'archive',
    name,
    version,
    from: plain(from),
    dateField: date,
    rule: ruleOf(name, spec, findings),
    ...(where && { where }),
    ...(tenant !== undefined && { tenantField: tenant }),
    findings,
  };
}

function ruleOf(name: string, { after, before, where }: Untyped, findings: Finding[]): ArchiveRule {
  if (after !== undefined && before !== undefined) {
    findings.push(
      error('archive-rule', `Archive ${name} has both after and before`, 'Write one of them; where may narrow it.'),
    );
  } else if (after !== undefined) {
    const ms = milliseconds(after);
    if (ms !== undefined) return { kind: 'after', ms, text: after };
    const mend = 'Write a number with ms, s, min, h or d: 90d.';
    findings.push(error('archive-after', `Archive ${name} has after ${JSON.stringify(after)}`, mend));
  } else if (before !== undefined) {
    const ms = parseDate(before);
    if (ms !== undefined) return { kind: 'before', ms, text: before };
    const mend = 'Write a date such as 2001-02-01; without a zone it is UTC.';
    findings.push(error('archive-before', `Archive ${name} has before ${JSON.stringify(before)}`, mend));
  } else if (!where) {
    const mend = `Write after: '90d', before: '2001-02-01' or where: doc => ….`;
    findings.push(error('archive-rule', `Archive ${name} would take everything at once: it has no rule`, mend));
  }
  return { kind: 'always' };
}
