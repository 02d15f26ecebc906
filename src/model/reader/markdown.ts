// The Markdown parser with a limit: its time grows with the square of the marks in one paragraph.
import type { Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { modelError } from '../errors.ts';

/**
 * The marks of emphasis, links and code. The parser compares each mark with those before it in its paragraph, so many
 * marks in one paragraph take long. A thousand paragraphs with 300 marks are fine, and one paragraph with 10,000.
 */
const MARKS = ['*', '_', '~', '[', ']', '!', '`', '<'];
const MOST_COMPARISONS = 50_000_000;

/** @throws UsageError `document-too-intricate`, with the line */
export const parseMarkdown = (text: string, file: string): Root =>
  fromMarkdown(text, { extensions: [gfm(), boundedMarks(file)], mdastExtensions: [gfmFromMarkdown()] });

/** The parser calls this extension first at every mark, because it comes last. It counts the mark and never consumes it. */
function boundedMarks(file: string): ReturnType<typeof gfm> {
  /** The number of marks in each paragraph, and the offset of the last one. */
  const seen = new WeakMap<object, { readonly marks: number; readonly offset: number }>();
  let comparisons = 0;
  const counter: Construct = {
    previous() {
      const { line, offset } = this.now();
      const { marks, offset: last } = seen.get(this) ?? { marks: 0, offset: -1 };
      // The parser may visit a place repeatedly.
      if (offset <= last) return false;
      seen.set(this, { marks: marks + 1, offset });
      comparisons += marks;
      if (comparisons <= MOST_COMPARISONS) return false;
      throw modelError(
        'document-too-intricate',
        `${file}, line ${line}, can't be read: there are too many of ${MARKS.join(' ')} in one paragraph`,
      );
    },
    tokenize: (_effects, _ok, leave) => leave,
  };
  return { text: Object.fromEntries(MARKS.map((mark) => [mark.charCodeAt(0), counter])) };
}

/** The type of a construct that a syntax extension adds to the parser. */
type Construct = Exclude<NonNullable<NonNullable<ReturnType<typeof gfm>['text']>[number]>, readonly unknown[]>;
