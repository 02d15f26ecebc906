// The kind of a container's JSON fence, by its content: examples, an indexing policy, composites, or a key definition.
import { isObject } from '../../base/json.ts';
import type { Fence } from './labelled-facts.ts';
import type { Findings } from './findings.ts';
import { type Element, readJson } from './json.ts';
import { composites } from './values.ts';

export type Content =
  | { readonly kind: 'examples'; readonly elements: readonly Element[]; readonly line: number }
  | { readonly kind: 'policy' | 'definition'; readonly value: Record<string, unknown>; readonly line: number }
  | { readonly kind: 'composites'; readonly value: NonNullable<ReturnType<typeof composites>>; readonly line: number };

const POLICY = ['indexingMode', 'includedPaths', 'excludedPaths', 'compositeIndexes'];
const DEFINITION = ['paths', 'partitionKey', 'uniqueKeys', 'uniqueKeyPolicy', 'defaultTtl', 'indexingPolicy'];

/** Undefined for a fence that isn't JSON at all (SQL, C#, a diagram); broken JSON is a finding. */
export function contentOf(fence: Fence, findings: Findings): Content | undefined {
  if (!/^\s*(?:\/\/[^\n]*\n\s*|\/\*[^]*?\*\/\s*)*[[{]/.test(fence.text)) return undefined;
  const json = readJson(fence);
  if ('error' in json) {
    findings.add(
      'error',
      'json',
      json.line,
      `The JSON can't be read here: ${json.error}`,
      'Correct the JSON. Comments and trailing commas are allowed.',
    );
    return undefined;
  }
  const { line } = fence;
  if (json.forgiven.length > 0)
    findings.add(
      'information',
      'json-forgiven',
      line,
      `The JSON was read, but it isn't strict JSON: it has ${json.forgiven.join(', ')}`,
    );
  const [only] = json.elements;
  if (!json.list && only && isObject(only.value) && !('id' in only.value)) {
    if (POLICY.some((name) => name in Object(only.value))) return { kind: 'policy', value: only.value, line };
    if (DEFINITION.some((name) => name in Object(only.value))) return { kind: 'definition', value: only.value, line };
  }
  if (json.list && json.elements.length > 0) {
    const value = composites(json.elements.map((element) => element.value));
    if (value) return { kind: 'composites', value, line };
  }
  return { kind: 'examples', elements: json.elements, line };
}
