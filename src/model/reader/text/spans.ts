// Finds where the rows of a section's tables begin and end in the text, so that only they are changed.
import { outline } from './outline.ts';
import { sectionsNamed } from './sections.ts';
import { isProjections } from '../projections.ts';
import { tablesOf } from './tables.ts';

export interface TableSpan {
  readonly headers: readonly string[];
  /** Rows without the header; offsets into the text. */
  readonly rows: readonly { readonly line: number; readonly start: number; readonly end: number }[];
}

/** The tables of projections in the sections with this name. */
export function tableSpans(text: string, file: string, section: string): TableSpan[] {
  return sectionsNamed(outline(text, file), section).flatMap(({ blocks }) =>
    blocks.flatMap((node) => {
      if (node.type !== 'table') return [];
      const [table] = tablesOf([node], text, '');
      if (!table || !isProjections(table)) return [];
      const rows = node.children.slice(1).map(({ position }) => ({
        line: position?.start.line ?? 0,
        start: position?.start.offset ?? 0,
        end: position?.end.offset ?? 0,
      }));
      return [{ headers: table.headers, rows }];
    }),
  );
}
