import { MillraceError } from '../../base/errors.ts';
import { SHARED_ERRORS } from '../../base/shared-errors.ts';
import type { Doc, Finding, SendSpec, Sink, SourceRef } from '../specs.ts';
import { type Declaration, deleteFindings, error, lagFindings, nameFindings, plain } from '../declaration.ts';
import { type StartOption, startFields } from '../start.ts';
import type { Type } from '../types.ts';

/** What `send` takes; S source, R the sink's rows. */
export interface SendOptions<S extends object, R> {
  /** The documents that it derives from. */
  readonly from: Type<S>;
  /** Your sink: an object with `write(entries, signal)`, and if it can, `rows` and `rebuild`. */
  readonly to: Sink<R>;
  /** A whole number from 1 on; default 1. Another version is another projection with its own state. */
  readonly version?: number;
  /** How far behind it may be, as `5 s`, `2 min`, `1 h`, `1 d`. */
  readonly maxLag?: string;
  /** What a source document's delete marker does to its row; default `remove`. */
  readonly onDelete?: 'remove' | 'keep';
  /**
   * Where it begins: `beginning` (default), `now`, or a time such as `2026-06-03T12:00:00Z`. `now` is when the first host
   * that declares it starts. Recorded once for a version; documents that change afterwards count, whatever their age.
   */
  readonly start?: StartOption;
  /** Only documents for which it returns true. Pure. */
  readonly where?: (doc: S) => boolean;
  /** Pure: the row. Millrace makes its id of the document's key and id. */
  readonly map: (doc: S) => NoInfer<R>;
}

/** The same without the user's types. */
interface Untyped extends Omit<SendOptions<Doc, unknown>, 'from'> {
  readonly from: SourceRef;
}

/** A sink throws this for entries that it will never accept, by their ids with the reasons: Millrace parks them. */
export class SinkRefusal extends MillraceError<'sink-refused'> {
  readonly refused: ReadonlyMap<string, string>;
  constructor(refused: ReadonlyMap<string, string>) {
    super('sink-refused', [...refused].map(([id, why]) => `${id}: ${why}`).join('; '), SHARED_ERRORS['sink-refused']);
    this.refused = refused;
  }
}

/** Copies documents out of Cosmos DB, into a search index or a cache. */
export function send<S extends object, R>(name: string, spec: SendOptions<S, R>): Declaration<SendSpec>;
export function send(name: string, spec: Untyped): Declaration<SendSpec> {
  const { from, to, version = 1, maxLag, onDelete = 'remove', where, map } = spec;
  const findings: Finding[] = [
    ...nameFindings(name, version),
    ...lagFindings(name, maxLag),
    ...deleteFindings(name, onDelete),
  ];
  const { findings: wrong, ...started } = startFields(name, spec.start);
  findings.push(...wrong);
  if (typeof to?.write !== 'function')
    findings.push(error('send-to', `Projection ${name} has no sink`, 'Add to: an object with write(entries, signal).'));
  const rebuild = to?.rebuild;
  if (rebuild && (['open', 'swap', 'drop'] as const).some((own) => typeof rebuild[own] !== 'function'))
    findings.push(
      error(
        'send-rebuild',
        `The sink of projection ${name} has a rebuild without open, swap or drop`,
        'Give rebuild all three: open(target, signal), swap(target, signal), drop(target, signal).',
      ),
    );
  if (typeof map !== 'function')
    findings.push(error('copy-map', `Projection ${name} has no map`, 'Add map: doc => ({ … }).'));
  return {
    kind: 'send',
    name,
    version,
    from: plain(from),
    to,
    onDelete,
    ...(maxLag !== undefined && { maxLag }),
    ...started,
    ...(where && { where }),
    map,
    findings,
  };
}
