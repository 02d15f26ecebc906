// The sinks of `send` are the pipeline's own, and outlive a scenario. So each scenario removes what the one before wrote, and
// its versions are above those of the one before.
import type { Entry, Sink } from '../pipeline/outside-sink.ts';
import type { Pipeline } from '../pipeline/specs.ts';

const MARK = 6;
const NEVER = new AbortController().signal;

interface Sent {
  readonly to: Sink;
  readonly ids: Set<string>;
  /** Characters of a version. */
  length: number;
}

/** @internal */
export class ScenarioSends {
  readonly pipeline: Pipeline;
  #scenario = 0;
  readonly #all: Sent[] = [];

  constructor(pipeline: Pipeline) {
    const effects = pipeline.effects.map((spec) =>
      spec.kind === 'send' ? { ...spec, to: this.#over(spec.to) } : spec,
    );
    this.pipeline = { ...pipeline, effects };
  }

  get any(): boolean {
    return this.#all.length > 0;
  }

  /** Begins the next scenario. */
  async prepare(): Promise<void> {
    this.#scenario += 1;
    for (const { to, ids, length } of this.#all) {
      const version = this.#marked('0'.repeat(length));
      if (ids.size > 0)
        await to.write(
          [...ids].map((id) => ({ id, version, row: null })),
          NEVER,
        );
      ids.clear();
    }
  }

  #marked(version: string): string {
    return `${String(this.#scenario).padStart(MARK, '0')}${version}`;
  }

  #over(to: Sink): Sink {
    const sent: Sent = { to, ids: new Set(), length: 0 };
    this.#all.push(sent);
    const marked = (entry: Entry): Entry => {
      sent.ids.add(entry.id);
      sent.length = entry.version.length;
      return { ...entry, version: this.#marked(entry.version) };
    };
    const rows = async function* unmarked(signal: AbortSignal) {
      for await (const { version, ...row } of to.rows!(signal))
        yield { ...row, ...(version !== undefined && { version: version.slice(MARK) }) };
    };
    return {
      write: (entries, signal) => to.write(entries.map(marked), signal),
      ...(to.rows && { rows }),
      ...(to.rebuild && { rebuild: to.rebuild }),
    };
  }
}
