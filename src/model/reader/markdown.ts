// The Markdown parser, bounded: it takes time with the square of what stands in one paragraph.
import type { Root } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { gfmFromMarkdown } from 'mdast-util-gfm';
import { gfm } from 'micromark-extension-gfm';
import { UsageError } from '../../base/errors.ts';

/**
 * What emphasis, links and code begin and end with. Each of them is compared with those before it in its paragraph, so
 * that many in one paragraph take long; a thousand paragraphs of 300 are fine, and one of 10,000.
 */
const MARKS = ['*', '_', '~', '[', ']', '!', '`', '<'];
const MOST_COMPARISONS = 50_000_000;

/** @throws UsageError `document-too-intricate`, with the line */
export const parseMarkdown = (text: string, file: string): Root =>
  fromMarkdown(text, { extensions: [gfm(), boundedMarks(file)], mdastExtensions: [gfmFromMarkdown()] });

/** Is asked at every mark before all else, as the last extension comes first; counts it, and never takes it. */
function boundedMarks(file: string): ReturnType<typeof gfm> {
  /** By paragraph. */
  const seen = new WeakMap<object, { readonly marks: number; readonly offset: number }>();
  let comparisons = 0;
  const counter: Construct = {
    previous() {
      const { line, offset } = this.now();
      const { marks, offset: last } = seen.get(this) ?? { marks: 0, offset: -1 };
      // The parser may come by a place more than once.
      if (offset <= last) return false;
      seen.set(this, { marks: marks + 1, offset });
      comparisons += marks;
      if (comparisons <= MOST_COMPARISONS) return false;
      throw new UsageError(
        'document-too-intricate',
        `${file}, line ${line}, can't be read: there are too many of ${MARKS.join(' ')} in one paragraph`,
        { mend: 'Put code and data into a fence, and blank lines between paragraphs.' },
      );
    },
    tokenize: (_effects, _ok, leave) => leave,
  };
  return { text: Object.fromEntries(MARKS.map((mark) => [mark.charCodeAt(0), counter])) };
}

/** What a syntax extension tells the parser to try at a character, for one of our own. */
type Construct = Exclude<NonNullable<NonNullable<ReturnType<typeof gfm>['text']>[number]>, readonly unknown[]>;
