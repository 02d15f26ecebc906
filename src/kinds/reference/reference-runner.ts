import { sharedError } from '../../base/shared-errors.ts';
import { MillraceError } from '../../base/errors.ts';
import { canonical } from '../../base/json.ts';
import { mapSettled } from '../../base/map-settled.ts';
import { type Doc, type ReferenceSpec, type SourceRef, projectionId } from '../../pipeline/specs.ts';
import { sinkDocumentId } from '../../pipeline/derived-ids.ts';
import type { Change } from '../../feed/reading/change.ts';
import type { DocumentAccess } from '../../access/document-access.ts';
import { Poison, type Refusal, type Runner, evaluate, wantedChanges } from '../runner.ts';
import { type FitOptions, fitOf } from '../sink-type.ts';
import { type SinkContainer, sinkKey } from '../sink-container.ts';
import { type Due, List } from './lists.ts';
import { spreadPairs } from './spread.ts';
import { projectionsError } from '../errors.ts';

export interface ReferenceRunnerOptions extends FitOptions {
  readonly stateContainer: string;
  /** How old a read may be, milliseconds (ASM-A3). */
  readonly readLagMs: number;
  /** The changes are history that it got before: rows that were lost since are written again. */
  readonly again?: boolean | undefined;
}

/** Reference data in every tenant (docs/SPEC-copies.md, "Reference data"). */
export function referenceRunner(spec: ReferenceSpec, sink: SinkContainer, options: ReferenceRunnerOptions): Runner {
  const id = projectionId(spec);
  const lists = {
    data: new List(options.stateContainer, id, 'data', options),
    tenants: new List(options.stateContainer, id, 'tenants', options),
  };

  /** Fields that the tenants or Millrace add. */
  const later = new Set([...Object.keys(spec.key), 'type']);

  const apply = async (changes: readonly Change[], access: DocumentAccess): Promise<void> => {
    const fit = fitOf(id, options);
    const data = evaluate(wantedChanges(changesOf(spec.from, changes), spec), (change) => {
      const part = dataPart(spec, change);
      if (part) fit(change, part, later);
      return { change, part };
    });
    const tenants = evaluate(wantedChanges(changesOf(spec.tenants, changes), { onDelete: 'remove' }), (change) => ({
      change,
      part: tenantPart(spec, change),
    }));
    const refusals: Refusal[] = [];
    const dueData = await advance(lists.data, data, (before, now) => assertSamePlace(spec, sink, before, now));
    const dueTenants = await advance(lists.tenants, tenants, assertSameTenant);
    refusals.push(
      ...(await spreadPairs({ spec, sink, lists, ...options }, { data: dueData, tenants: dueTenants }, access)),
    );
    if (refusals.length > 0) throw new Poison(refusals);

    async function advance(
      list: List,
      parts: readonly { readonly change: Change; readonly part: Doc | null }[],
      assertSame: (before: Doc, now: Doc) => void,
    ): Promise<Due[]> {
      const advanced = await mapSettled(
        parts,
        async ({ change, part }) => {
          try {
            return await list.advance(change, part, assertSame, access);
          } catch (error) {
            if (!(error instanceof MillraceError) || error.retryable) throw error;
            refusals.push({ change, error });
            return undefined;
          }
        },
        { concurrency: 128 },
      );
      return advanced.filter((due) => due !== undefined);
    }
  };

  return { id, order: 'document', sources: [spec.from, spec.tenants], apply };
}

const changesOf = (ref: SourceRef, changes: readonly Change[]): Change[] =>
  changes.filter(({ container, type }) => container === ref.container && type === ref.type);

function assertSamePlace(spec: ReferenceSpec, sink: SinkContainer, before: Doc, now: Doc): void {
  const place = (part: Doc): string =>
    canonical([part['id'], sinkKey(sink, { ...part, ...placeholder(spec), type: spec.into.type })]);
  if (place(before) === place(now)) return;
  throw projectionsError(
    'place-changed',
    `A new version of the document would get another id or partition key in ${sink.name}`,
  );
}

/** Empty values in place of a tenant's fields. */
const placeholder = ({ key }: ReferenceSpec): Doc => Object.fromEntries(Object.keys(key).map((field) => [field, '']));

function dataPart(spec: ReferenceSpec, { op, doc = {} }: Change): Doc | null {
  if (op !== 'upsert' || (spec.where && !spec.where(doc))) return null;
  const mapped = spec.map(doc);
  const { id } = mapped;
  if (typeof id === 'string' && id !== '') return { ...mapped, id: sinkDocumentId(id, spec.badIds) };
  throw sharedError('value-invalid', `${projectionId(spec)} returned a document without an id`, {
    hint: 'Return a non-empty string as `id`.',
  });
}

function tenantPart(spec: ReferenceSpec, { op, doc = {} }: Change): Doc | null {
  if (op !== 'upsert') return null;
  const part: Doc = {};
  for (const [field, of] of Object.entries(spec.key)) {
    const value = doc[of];
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw sharedError('key-missing', `The tenant has no value in ${of}, the key of its copies`, {
        hint: 'Give every tenant that field, or name another field in `key`.',
      });
    part[field] = value;
  }
  return part;
}

function assertSameTenant(before: Doc, now: Doc): void {
  if (canonical(before) === canonical(now)) return;
  throw projectionsError('place-changed', 'A key field of the tenant changed; its copies have the former value', {
    hint: 'Name a field in `key` that never changes, such as the tenant’s id.',
  });
}
