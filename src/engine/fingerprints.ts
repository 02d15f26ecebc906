import type { Container } from '@azure/cosmos';
import { emit } from '../base/diagnostics.ts';
import { MillraceError } from '../base/errors.ts';
import { canonical } from '../base/json.ts';
import { once } from '../base/once.ts';
import { withRetry } from '../cosmos/retry.ts';
import { rewrite } from '../cosmos/rewrite.ts';
import { type Fingerprint, fingerprintOf, incompatibilities } from '../definition/fingerprint.ts';
import { type EmbedSpec, type Pipeline, type ProjectionSpec, projectionId } from '../definition/specs.ts';
import type { Model } from '../model/model.ts';
import { Poison, type Runner } from '../projections/runner.ts';

interface Stored extends Fingerprint {
  readonly id: string;
  readonly pk: 'fingerprints';
  readonly type: 'millrace.fingerprint';
  /** What is of another type than the model says is parked; absent: the version is older than that. */
  readonly strict?: true;
}

/** Refuses a projection whose declaration changed under its version, and lets the others go on. */
export class Fingerprints {
  readonly #state: Container;
  readonly #pipeline: Pipeline;
  readonly #model: Model;

  constructor(state: Container, { pipeline, model }: { readonly pipeline: Pipeline; readonly model: Model }) {
    this.#state = state;
    this.#pipeline = pipeline;
    this.#model = model;
  }

  /**
   * The runner, asked for its fingerprint before its first page. While it is refused its changes are parked: once the
   * declaration is taken back, a redrive applies the documents as they are then.
   */
  guard(runner: Runner): Runner {
    const specs: readonly (ProjectionSpec | EmbedSpec)[] = [...this.#pipeline.projections, ...this.#pipeline.embeds];
    const spec = specs.find((one) => projectionId(one) === runner.id);
    if (!spec) return runner;
    const check = once(() => this.check(spec));
    return {
      ...runner,
      apply: async (changes, session) => {
        const error = await check();
        if (error) throw new Poison(changes.map((change) => ({ change, error })));
        await runner.apply(changes, session);
      },
      resume: async (session) => (!(await check()) && (await runner.resume?.(session))) || { idle: true, refusals: [] },
    };
  }

  /** What of a version is declared otherwise than it was deployed, in words; notes nothing. */
  async changes(spec: ProjectionSpec | EmbedSpec): Promise<string[]> {
    const stored = await this.#read(projectionId(spec));
    return stored ? incompatibilities(stored, fingerprintOf(spec, this.#model, this.#pipeline.sources)) : [];
  }

  /** Whether this version ever applied a change. */
  async hasRun(spec: ProjectionSpec | EmbedSpec): Promise<boolean> {
    return (await this.#read(projectionId(spec))) !== undefined;
  }

  /** Whether what a version makes is held to its sink's type: always, but of versions that are older than that. */
  readonly isStrict = async (id: string): Promise<boolean> => {
    const stored = await this.#read(id);
    return stored === undefined || stored.strict === true;
  };

  /** Why a version can't go on as it is declared now; undefined where it can, which is noted. */
  async check(spec: ProjectionSpec | EmbedSpec): Promise<MillraceError | undefined> {
    const at = { id: projectionId(spec), pk: 'fingerprints' } as const;
    const now = fingerprintOf(spec, this.#model, this.#pipeline.sources);
    let changed: string[] = [];
    await rewrite(this.#state, at, (stored?: Stored): Stored | undefined => {
      changed = stored ? incompatibilities(stored, now) : [];
      if (changed.length > 0) return stored;
      // Examples come and go; what they were known to make stays known.
      const next = { ...now, places: { ...stored?.places, ...now.places } };
      if (stored && canonical([stored.parts, stored.places]) === canonical([next.parts, next.places])) return stored;
      const strict = !stored || stored.strict ? { strict: true as const } : {};
      return { ...at, type: 'millrace.fingerprint', ...next, ...strict };
    });
    if (changed.length === 0) return undefined;
    const error = refusal(spec, changed);
    emit('projection:refused', { projection: at.id, error });
    return error;
  }

  async #read(id: string): Promise<Stored | undefined> {
    return (await withRetry(() => this.#state.item(id, 'fingerprints').read<Stored>(), { reads: true })).resource;
  }
}

const refusal = (spec: ProjectionSpec | EmbedSpec, changed: readonly string[]): MillraceError =>
  new MillraceError(
    'projection-incompatible',
    `${projectionId(spec)} is declared otherwise than what it has written: ${changed.join('; ')}`,
    {
      mend: `Take the change back and run \`millrace dead-letters redrive ${projectionId(spec)}\`, or declare it as version ${spec.version + 1} and run \`millrace projections rebuild ${spec.name}\`.`,
    },
  );
