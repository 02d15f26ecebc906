import { parseDate } from '../date.ts';
import { type Declaration, bytes, error, milliseconds, nameFindings, plain } from '../declaration.ts';
import type { ArchiveCodec, ArchiveRule, ArchiveSpec, Doc, Finding, SourceRef } from '../specs.ts';
import type { Type } from '../types.ts';

/** What `archive` takes; S the documents that leave. */
export interface ArchiveOptions<S extends object> {
  /** The documents that leave. */
  readonly from: Type<S>;
  /**
   * Field with the date for the rule and the blob's period: `2001-02-01` or `2001/02/01`, with or without a time, or a
   * number of seconds or milliseconds since 1970. The default zone is UTC. A document without the field isn't archived.
   */
  readonly date: keyof S & string;
  /** Archive a document when its date is this long ago: `90d`, `12 h`. */
  readonly after?: string;
  /** Archive a document if its date is earlier than this one. */
  readonly before?: string;
  /**
   * Archive a document only if it is larger: `100 KB`, in units of 1,000 bytes. Its size is that of its JSON without the
   * fields of Cosmos DB. It may be the only rule; then each sweep reads all documents of the type.
   */
  readonly largerThan?: string;
  /** Archive a document only if this returns true; it may be the only rule. */
  readonly where?: (doc: S) => boolean;
  /**
   * Delete archived documents from the archive for good when the month of their date is this long ago: `3650d`. It must
   * be longer than `after`. `archive expire` does it; a legal hold keeps them. Default: they are kept.
   */
  readonly keep?: string;
  /**
   * Have the storage account refuse to remove or overwrite a blob until it was written so long ago: `2555d`. It needs a
   * blob container with version-level immutability (`legalHolds` in `infra/`). It may not be longer than `keep`. Default: none.
   */
  readonly retain?: string;
  /** No one, you and Microsoft included, can shorten or end the time of `retain`. Default false. */
  readonly retainLocked?: boolean;
  /** Field with the tenant: each tenant has separate blobs. Default: the pipeline's tenant. */
  readonly tenant?: keyof S & string;
  /**
   * How new blobs are packed: `zstd` takes less of the processor than gzip. Blobs that exist stay as they are, and are read
   * too. Default `gzip`.
   */
  readonly codec?: ArchiveCodec;
  /**
   * Move blobs to a cooler access tier when they were written so many days ago: `{ cool: '30d', cold: '90d' }`. The lifecycle
   * policy in `infra/` does it. Default: they stay where they are written.
   */
  readonly tiers?: { readonly cool?: string; readonly cold?: string };
  /** A whole number from 1 on; default 1. The blobs of other versions stay, and are read too. */
  readonly version?: number;
}

/** The same without the user's types. */
interface Untyped extends Omit<ArchiveOptions<Doc>, 'from'> {
  readonly from: SourceRef;
}

/** Moves documents from their container to Blob Storage, by a rule; everything derived from them stays. */
export function archive<S extends object>(name: string, spec: ArchiveOptions<S>): Declaration<ArchiveSpec>;
export function archive(name: string, spec: Untyped): Declaration<ArchiveSpec> {
  const { from, date, largerThan, where, keep, tenant, codec, tiers, version = 1 } = spec;
  const findings = nameFindings(name, version);
  if (typeof date !== 'string' || date === '') {
    findings.push(
      error(
        'archive-date',
        `Archive ${name} names no date field`,
        `Add date: 'completedAt', a field of its documents.`,
      ),
    );
  }
  if (codec !== undefined && codec !== 'gzip' && codec !== 'zstd') {
    const message = `Archive ${name} has codec ${JSON.stringify(codec)}, which isn't valid`;
    findings.push(error('archive-codec', message, 'Write gzip or zstd.'));
  }
  const rule = ruleOf(name, spec, findings);
  const larger = largerThan === undefined ? undefined : sizeOf(name, largerThan, findings);
  const kept = keep === undefined ? undefined : keepOf(name, { ...spec, keep }, rule, findings);
  return {
    kind: 'archive',
    name,
    version,
    from: plain(from),
    dateField: date,
    rule,
    ...(larger && { largerThan: larger }),
    ...(kept && { keep: kept }),
    ...retentionOf(name, spec, kept, findings),
    ...(where && { where }),
    ...(tenant !== undefined && { tenantField: tenant }),
    ...(codec !== undefined && codec !== 'gzip' && { codec }),
    ...(tiers !== undefined && { tiers: tiersOf(name, tiers, findings) }),
    findings,
  };
}

function ruleOf(name: string, { after, before, largerThan, where }: Untyped, findings: Finding[]): ArchiveRule {
  if (after !== undefined && before !== undefined) {
    findings.push(
      error(
        'archive-rule',
        `Archive ${name} has both after and before`,
        'Remove one of them; add where if you need a second condition.',
      ),
    );
  } else if (after !== undefined) {
    const ms = milliseconds(after);
    if (ms !== undefined) return { kind: 'after', ms, text: after };
    const hint = 'Write a number and ms, s, min, h or d, such as 90d.';
    findings.push(
      error('archive-after', `Archive ${name} has after ${JSON.stringify(after)}, which isn't a span of time`, hint),
    );
  } else if (before !== undefined) {
    const ms = parseDate(before);
    if (ms !== undefined) return { kind: 'before', ms, text: before };
    const hint = 'Write a date such as 2001-02-01; the default zone is UTC.';
    findings.push(
      error('archive-before', `Archive ${name} has before ${JSON.stringify(before)}, which isn't a date`, hint),
    );
  } else if (!where && largerThan === undefined) {
    const hint = `Add after: '90d', before: '2001-02-01', largerThan: '100 KB' or where: doc => ….`;
    findings.push(error('archive-rule', `Archive ${name} has no rule, so it would archive every document`, hint));
  }
  return { kind: 'always' };
}

function sizeOf(name: string, text: string, findings: Finding[]): ArchiveSpec['largerThan'] {
  const size = bytes(text);
  if (size !== undefined) return { bytes: size, text };
  const message = `Archive ${name} has largerThan ${JSON.stringify(text)}, which isn't a size`;
  findings.push(error('archive-size', message, 'Write a number and B, KB or MB, such as 100 KB.'));
  return undefined;
}

function keepOf(
  name: string,
  { keep: text }: Untyped & { readonly keep: string },
  rule: ArchiveRule,
  findings: Finding[],
): ArchiveSpec['keep'] {
  const ms = milliseconds(text);
  const refuse = (why: string, hint: string): undefined => {
    findings.push(error('archive-keep', `Archive ${name} has keep ${JSON.stringify(text)}, ${why}`, hint));
  };
  if (ms === undefined || ms === 0)
    return refuse("which isn't a span of time", 'Write a number and ms, s, min, h or d, such as 3650d.');
  if (rule.kind === 'after' && ms <= rule.ms)
    return refuse(
      `and archives documents after ${rule.text}: they would be deleted when they arrive`,
      'Write a longer span than that of after.',
    );
  return { ms, text };
}

function retentionOf(
  name: string,
  { retain: text, retainLocked: locked = false }: Untyped,
  keep: ArchiveSpec['keep'],
  findings: Finding[],
): Pick<ArchiveSpec, 'retain'> {
  const refuse = (why: string, hint: string): Pick<ArchiveSpec, 'retain'> => {
    findings.push(error('archive-retain', `Archive ${name} has ${why}`, hint));
    return {};
  };
  if (text === undefined)
    return locked ? refuse('retainLocked without retain', "Add retain: '2555d', or remove retainLocked.") : {};
  const ms = milliseconds(text) ?? 0;
  if (ms < DAY_MS)
    return refuse(`retain ${JSON.stringify(text)}, which isn't a span of a day or more`, 'Write days, such as 2555d.');
  if (keep && ms > keep.ms)
    return refuse(
      `retain ${text} and keep ${keep.text}: its blobs could not be deleted when their time is over`,
      'Write a span for retain that is not longer than that of keep.',
    );
  return { retain: { ms, text, locked } };
}

const DAY_MS = 86_400_000;

/** Days; 0: never. */
function tiersOf(
  name: string,
  tiers: Readonly<Record<string, unknown>>,
  findings: Finding[],
): NonNullable<ArchiveSpec['tiers']> {
  const wrong = (what: string): void => {
    const hint = "Write whole days that grow, such as tiers: { cool: '30d', cold: '90d' }.";
    findings.push(error('archive-tiers', `Archive ${name} ${what}`, hint));
  };
  const daysOf = (tier: 'cool' | 'cold'): number => {
    const text = tiers[tier];
    if (text === undefined) return 0;
    const days = typeof text === 'string' ? (milliseconds(text) ?? Number.NaN) / DAY_MS : Number.NaN;
    if (Number.isInteger(days) && days >= 1) return days;
    wrong(`moves blobs to ${tier} after ${JSON.stringify(text)}, which isn't whole days`);
    return 0;
  };
  for (const tier of Object.keys(tiers).filter((one) => one !== 'cool' && one !== 'cold'))
    wrong(`names a tier ${tier}, and the tiers are cool and cold`);
  const [cool, cold] = [daysOf('cool'), daysOf('cold')];
  if (cool > 0 && cold > 0 && cold <= cool) wrong(`moves blobs to cold after ${cold} days, and to cool after ${cool}`);
  if (Object.keys(tiers).length === 0) wrong('has tiers that name none');
  return { cool, cold };
}
