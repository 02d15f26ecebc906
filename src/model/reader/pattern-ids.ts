// `1`, `#1`, `AP-1`, `AP31`, `Pattern #2`, `12a`; ranges `AP12-14`, `#1-6`; "all 24 patterns".

const ONE = String.raw`(?:patterns?\s*)?(?:模式\s*)?(?:ap|p)?[\s\-–_#]*0*(\d{1,4}[a-z]?)(?![\d.%\w])`;
const AT_START = new RegExp(String.raw`^\W{0,3}${ONE}`, 'i');
const RANGE = new RegExp(
  String.raw`^\W{0,3}(?:patterns?\s*)?(?:ap|p)?[\s\-_#]*0*(\d{1,4})\s*(?:-|–|—|to|\.\.|…)\s*(?:ap|p)?[\s\-_#]*0*(\d{1,4})(?![\d.%\w])`,
  'i',
);
const ALL = /^\W{0,3}(all(\s+\d+)?(\s+(the\s+)?(access\s+)?patterns)?|所有模式|全部)\b/i;

/** The canonical number of one id: without prefix and leading zeros. */
export const patternId = (text: string): string | undefined =>
  AT_START.exec(text.replaceAll(/[*`]/g, ''))?.[1]?.toLowerCase();

/** The ids of a list, in order; other words are ignored. `known`: the ids for "all". */
export function patternIds(text: string, known: readonly string[] = []): string[] {
  const found: string[] = [];
  for (const part of text.replaceAll(/[*`]/g, '').split(/\s*(?:,|;|、|，|\band\b|&|\+|<br\s*\/?>)\s*/i)) {
    const range = RANGE.exec(part);
    const one = patternId(part);
    if (range) {
      const [from, to] = [Number(range[1]), Number(range[2])];
      for (let id = from; id <= to && id - from < 1000; id++) found.push(String(id));
    } else if (one !== undefined) found.push(one);
    else if (ALL.test(part)) found.push(...known);
  }
  return [...new Set(found)];
}
