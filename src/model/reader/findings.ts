import type { ModelFinding, SourceLine } from '../model.ts';

/** Collects the reader's findings; each has its line. */
export class Findings {
  readonly list: ModelFinding[] = [];
  readonly file: string;

  constructor(file: string) {
    this.file = file;
  }

  at(line: number): SourceLine {
    return { file: this.file, line };
  }

  add(severity: ModelFinding['severity'], code: string, line: number, message: string, hint?: string): void {
    this.list.push({ code, severity, message, ...(hint !== undefined && { hint }), at: this.at(line) });
  }
}
