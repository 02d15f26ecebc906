// Compares the document's derived examples with the documents that projections make from its source examples.
import { canonical } from '../../base/json.ts';
import type { Doc } from '../../definition/specs.ts';
import { ownFields, rowKey } from '../../definition/oracle/recompute.ts';
import type { Design } from '../../model/documents.ts';
import type { LoadedPipeline } from '../../runtime/workspace.ts';
import { type ByContainer, derivedTypes, refName } from './oracle.ts';

export interface ExampleProof {
  /** Derived examples that were compared. */
  readonly compared: number;
  readonly different: readonly {
    /** `container/type id`. */
    readonly example: string;
    /** Line in the data-model document. */
    readonly line: number;
    /** The fields that differ, or that no source example makes this document. */
    readonly what: string;
  }[];
}

export function proveExamples(design: Design, { pipeline, model }: LoadedPipeline, stored: ByContainer): ExampleProof {
  const derived = derivedTypes(pipeline);
  const different: ExampleProof['different'][number][] = [];
  let compared = 0;
  for (const { name: container, partitionKey, types } of design.model.containers) {
    const paths = model.containers.find(({ name }) => name === container)?.partitionKey ?? partitionKey;
    for (const { name: type, examples } of types) {
      if (!derived.has(refName({ container, type }))) continue;
      const rows = new Map(
        (stored.get(container) ?? []).filter((doc) => doc['type'] === type).map((doc) => [rowKey(doc, paths), doc]),
      );
      for (const example of examples) {
        compared += 1;
        const what = differing(example, rows.get(rowKey(example, paths)));
        const line = design.exampleLines.get(example) ?? 0;
        if (what !== undefined)
          different.push({ example: `${container}/${type} ${String(example['id'])}`, line, what });
      }
    }
  }
  return { compared, different };
}

function differing(example: Doc, made: Doc | undefined): string | undefined {
  if (!made) return 'no source example makes it';
  const own = ownFields(made);
  const fields = new Set([...Object.keys(example), ...Object.keys(own)]);
  const odd = [...fields].filter((field) => canonical(example[field] ?? null) !== canonical(own[field] ?? null));
  return odd.length === 0
    ? undefined
    : odd.map((field) => `${field}: ${say(example[field])} in the document, ${say(own[field])} derived`).join('; ');
}

const say = (value: unknown): string => (value === undefined ? 'absent' : canonical(value));
