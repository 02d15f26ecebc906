import type { ModelFinding, Place } from '../model.ts';

/** Collects what the reader has to say; every finding has its line. */
export class Findings {
  readonly list: ModelFinding[] = [];
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  at(line: number): Place {
    return { file: this.#file, line };
  }

  add(severity: ModelFinding['severity'], code: string, line: number, message: string, mend?: string): void {
    this.list.push({ code, severity, message, ...(mend !== undefined && { mend }), at: this.at(line) });
  }
}
