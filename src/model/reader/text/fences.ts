// The kind of a container's JSON fence, by its content: examples, an indexing policy, composites, or a key definition.
import { isObject } from '../../../base/json.ts';
import type { StatedFence } from '../labelled-facts.ts';
import { Findings } from '../findings.ts';
import { ELLIPSIS, type Element, readJson } from './json.ts';
import { isTemplate } from '../resources.ts';
import { composites } from './values.ts';

export type TextContent =
  | {
      readonly kind: 'examples';
      readonly elements: readonly Element[];
      readonly line: number;
      readonly partial: boolean;
    }
  | {
      readonly kind: 'policy' | 'definition';
      readonly value: Record<string, unknown>;
      readonly line: number;
      readonly text: string;
    }
  | { readonly kind: 'composites'; readonly value: NonNullable<ReturnType<typeof composites>>; readonly line: number };

const POLICY = ['indexingMode', 'includedPaths', 'excludedPaths', 'compositeIndexes'];
const DEFINITION = ['paths', 'partitionKey', 'uniqueKeys', 'uniqueKeyPolicy', 'defaultTtl', 'indexingPolicy'];

/** A literal of JavaScript as JSON: products are worked out, names and strings get double quotes. Lines stay the same. */
const quoted = (text: string): string =>
  text
    .replaceAll(/\d+(?:\s*\*\s*\d+)+/g, (product) =>
      String(product.split('*').reduce((value, factor) => value * Number(factor), 1)),
    )
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|'((?:[^'\\\n]|\\.)*)'/g, (literal: string, inner: string | undefined) =>
      inner === undefined ? literal : JSON.stringify(inner),
    )
    .replaceAll(/(^\s*|[{,]\s*)([A-Za-z_$][\w$]*|\d+)(\s*:)/gm, '$1"$2"$3');

/** The object with an id that a program assigns below the declaration of its type. */
const EXAMPLE =
  /^(?:export\s+)?(?:const|let|var)\s+\w+(?:\s*:\s*\w+)?\s*=\s*(?<object>\{\s*\n\s*["']?id["']?\s*:[^]*?^\})/m;

/** Documents may have a field `partitionKey` too; its value is no path. */
const definesKey = ({ partitionKey }: Record<string, unknown>): boolean =>
  typeof partitionKey === 'string' ? partitionKey.startsWith('/') : partitionKey !== undefined && partitionKey !== null;

/** Undefined for a fence that isn't JSON at all (SQL, C#, a diagram); broken JSON is a finding. */
export function contentOf(fence: StatedFence, findings: Findings): TextContent | undefined {
  if (isTemplate(fence.text)) return undefined;
  // "Document of orders:" above the JSON.
  const titled = /^\s*[^{}[\]"\n]{3,80}:\s*\n(?=\s*[[{])/.exec(fence.text)?.[0];
  if (titled !== undefined)
    return contentOf(
      { text: fence.text.slice(titled.length), line: fence.line + titled.split('\n').length - 1 },
      findings,
    );
  // `const policy = { … };` of JavaScript or TypeScript.
  const assigned = /^\s*(?:export\s+)?(?:const|let|var)\s+\w+(?:\s*:\s*[\w<>[\]]+)?\s*=\s*(?=[[{])/.exec(
    fence.text,
  )?.[0];
  if (assigned !== undefined)
    return contentOf(
      {
        text: fence.text.slice(assigned.length).replace(/;\s*$/, ''),
        line: fence.line + assigned.split('\n').length - 1,
      },
      new Findings(findings.file),
    );
  const example = /^\s*(?:export\s+)?(?:interface|type)\s/m.test(fence.text) ? EXAMPLE.exec(fence.text) : null;
  const object = example?.groups?.['object'];
  if (example && object !== undefined) {
    const before = fence.text.slice(0, example.index + example[0].length - object.length);
    return contentOf({ text: object, line: fence.line + before.split('\n').length - 1 }, new Findings(findings.file));
  }
  if (!/^\s*(?:\/\/[^\n]*\n\s*|\/\*[^]*?\*\/\s*)*[[{]/.test(fence.text)) return undefined;
  const strict = readJson(fence);
  const json = 'error' in strict ? readJson({ ...fence, text: quoted(fence.text) }) : strict;
  if ('error' in json) {
    findings.add(
      'error',
      'json',
      'error' in strict ? strict.line : json.line,
      `The JSON can't be read here: ${'error' in strict ? strict.error : json.error}`,
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
  const definition = only && isObject(only.value) && (definesKey(only.value) || 'indexingPolicy' in only.value);
  if (!json.list && only && isObject(only.value) && (definition || !('id' in only.value))) {
    if (POLICY.some((name) => name in Object(only.value)))
      return { kind: 'policy', value: only.value, line, text: fence.text };
    const { indexingPolicy } = only.value;
    if (isObject(indexingPolicy) && Object.keys(only.value).length === 1)
      return { kind: 'policy', value: indexingPolicy, line, text: fence.text };
    if (DEFINITION.some((name) => name in Object(only.value)))
      return { kind: 'definition', value: only.value, line, text: fence.text };
  }
  if (json.list && json.elements.length > 0) {
    const value = composites(json.elements.map((element) => element.value));
    if (value) return { kind: 'composites', value, line };
  }
  return { kind: 'examples', elements: json.elements, line, partial: json.forgiven.includes(ELLIPSIS) };
}
