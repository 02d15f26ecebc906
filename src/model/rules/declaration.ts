// A field that a document declares, without a value.
import type { SourceLine } from '../model.ts';

export interface RuleDeclared {
  readonly field: string;
  readonly array: boolean;
  /** An object whose names are values, such as ids. */
  readonly map?: true;
  readonly optional: boolean;
  /** The entity of a diagram, of an item or of a row that has it. */
  readonly entity?: string;
  readonly at: SourceLine;
}
