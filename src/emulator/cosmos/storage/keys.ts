import { effectivePartitionKey } from '../../../cosmos/effective-partition-key.ts';
import type { PartitionKind } from '../../../cosmos/effective-partition-key.ts';
import { badRequest, parseJson } from '../wire/wire.ts';
import type { WireDoc } from '../wire/wire.ts';

const LONGEST = 2048;

/** A key in the protocol's form: `{}` for a field that the document lacks. */
export type WireKey = readonly (string | number | boolean | null | Record<string, never>)[];

export interface KeyDefinition {
  readonly paths: readonly string[];
  readonly kind: PartitionKind;
  readonly version: 1 | 2;
  readonly systemKey?: boolean;
}

/** The canonical text of a key, by which partitions are found. */
export const keyText = (key: WireKey): string => JSON.stringify(key);

/** Splits `/a/"b/c"/d` into its names. */
export function pathSteps(path: string): string[] {
  return [...path.matchAll(/\/(?:"((?:[^"\\]|\\.)*)"|([^/]*))/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

export function storedValueAt(doc: unknown, steps: readonly string[]): unknown {
  let value = doc;
  for (const step of steps) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as WireDoc)[step];
  }
  return value;
}

/** Reads documents' keys by a container's definition. */
export class KeyReader {
  readonly definition: KeyDefinition;
  readonly steps: readonly (readonly string[])[];

  constructor(definition: KeyDefinition) {
    this.definition = definition;
    this.steps = definition.paths.map(pathSteps);
  }

  of(doc: WireDoc): WireKey {
    return this.steps.map((steps) => this.#part(storedValueAt(doc, steps)));
  }

  /** Parses the key header; `full` refuses a prefix of a hierarchical key. */
  parse(text: string, full: boolean): WireKey {
    const given = parseJson(text);
    // An empty key: a document of a container from the time before keys were required.
    const value = Array.isArray(given) && given.length === 0 && this.definition.systemKey === true ? [{}] : given;
    const wanted = this.steps.length;
    if (!Array.isArray(value) || value.length === 0 || value.length > wanted || (full && value.length !== wanted)) {
      throw badRequest(
        `Partition key provided either doesn't correspond to definition in the collection or doesn't match partition key field values specified in the document. The key has ${wanted} level(s).`,
        1001,
      );
    }
    return value.map((part: unknown) => this.#part(part));
  }

  epk(key: WireKey): string {
    return effectivePartitionKey(key, this.definition.kind, this.definition.version);
  }

  #part(value: unknown): WireKey[number] {
    if (value === undefined) return {};
    if (typeof value === 'string') {
      if (value.length > LONGEST / 4 && Buffer.byteLength(value) > LONGEST) {
        throw badRequest(`The partition key value is longer than ${LONGEST} bytes.`);
      }
      return value;
    }
    if (typeof value === 'number') return Object.is(value, -0) ? 0 : value;
    if (typeof value === 'boolean' || value === null) return value;
    if (typeof value === 'object' && !Array.isArray(value) && Object.keys(value).length === 0) return {};
    throw badRequest('The partition key value must be a string, number, boolean or null.');
  }
}
