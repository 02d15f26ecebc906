import type { Container } from '@azure/cosmos';
import { emit } from '../base/telemetry/diagnostics.ts';
import type { MillraceError } from '../base/errors.ts';
import { formatOf } from '../base/format.ts';
import { canonical } from '../base/json.ts';
import { once } from '../base/once.ts';
import { readItem } from '../cosmos/read-item.ts';
import { rewrite } from '../cosmos/compare-and-swap.ts';
import {
  type Fingerprint,
  type FingerprintedSpec,
  fingerprintOf,
  incompatibilities,
  misspelt,
} from '../pipeline/fingerprint.ts';
import { type Pipeline, projectionId } from '../pipeline/specs.ts';
import type { Model } from '../model/model.ts';
import { engineError } from './errors.ts';

interface Stored extends Fingerprint {
  readonly id: string;
  readonly pk: 'fingerprints';
  readonly type: 'millrace.fingerprint';
}

/** What has a fingerprint. */
export const fingerprinted = ({
  projections,
  embeds,
  effects,
}: Pick<Pipeline, 'projections' | 'embeds' | 'effects'>): FingerprintedSpec[] => [
  ...projections,
  ...embeds,
  ...effects.filter((spec) => spec.kind === 'table'),
];

/** Stops a projection whose declaration changed without a new version. The other projections continue. */
export class Fingerprints {
  readonly #state: Container;
  readonly #pipeline: Pipeline;
  readonly #model: Model;
  readonly #specs: ReadonlyMap<string, FingerprintedSpec>;
  /** By id. The hosts of all shards in a process guard by the same fingerprints. */
  readonly #checks = new Map<string, () => Promise<MillraceError | undefined>>();

  constructor(state: Container, { pipeline, model }: { readonly pipeline: Pipeline; readonly model: Model }) {
    this.#state = state;
    this.#pipeline = pipeline;
    this.#model = model;
    this.#specs = new Map(fingerprinted(pipeline).map((spec) => [projectionId(spec), spec]));
  }

  /** The same as `check` at its first call, which is asked before a version's first page. */
  async refusal(id: string): Promise<MillraceError | undefined> {
    const spec = this.#specs.get(id);
    if (!spec) return undefined;
    const check = this.#checks.get(id) ?? once(() => this.check(spec));
    this.#checks.set(id, check);
    return check();
  }

  /** The differences between a version's declaration and its stored fingerprint, in words. Stores nothing. */
  async changes(spec: FingerprintedSpec): Promise<string[]> {
    const stored = await this.#read(projectionId(spec));
    return stored ? incompatibilities(stored, fingerprintOf(spec, this.#model, this.#pipeline)) : [];
  }

  /** Whether this version has ever applied a change. */
  async hasRun(spec: FingerprintedSpec): Promise<boolean> {
    return (await this.#read(projectionId(spec))) !== undefined;
  }

  /** The error if a version can't continue with its declaration. Undefined: it can, and its fingerprint is stored. */
  async check(spec: FingerprintedSpec): Promise<MillraceError | undefined> {
    const at = { id: projectionId(spec), pk: 'fingerprints' } as const;
    const now = fingerprintOf(spec, this.#model, this.#pipeline);
    let changed: string[] = [];
    await rewrite(this.#state, at, (stored?: Stored): Stored | undefined => {
      changed = stored ? incompatibilities(stored, now) : [];
      if (changed.length > 0) return stored;
      // Examples may be removed; the places that they have shown stay in the fingerprint.
      const next = { ...now, places: { ...stored?.places, ...now.places } };
      if (stored && canonical([stored.parts, stored.places]) === canonical([next.parts, next.places])) return stored;
      return { ...at, type: 'millrace.fingerprint', ...formatOf('fingerprint'), ...next };
    });
    if (changed.length === 0) return undefined;
    const error = refusal(spec, changed, misspelt(spec, this.#model));
    emit('projection:refused', { projection: at.id, error });
    return error;
  }

  #read(id: string): Promise<Stored | undefined> {
    return readItem<Stored>(this.#state.item(id, 'fingerprints'));
  }
}

const refusal = (spec: FingerprintedSpec, changed: readonly string[], first: string): MillraceError =>
  engineError(
    'projection-incompatible',
    `The declaration of ${projectionId(spec)} no longer matches the data that this version has written: ${changed.join('; ')}`,
    {
      hint: `${first}Undo the change and run \`millrace dead-letters redrive --only ${projectionId(spec)}\`, or declare version ${spec.version + 1} and run \`millrace projections rebuild ${spec.name}\`.`,
    },
  );
