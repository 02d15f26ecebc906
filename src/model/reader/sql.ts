// Reads from a query of the mapping which fields it filters by, and its order.
import type { Query } from '../documents.ts';

const FIELD = String.raw`\b[a-z]\w{0,2}\.((?:[A-Za-z_]\w*)(?:\.[A-Za-z_]\w*)*)|\b[a-z]\w{0,2}\["([^"]+)"\]`;

/** `text` is only the query. Undefined if it isn't a query. */
export function queryOf(text: string): Query | undefined {
  if (!/^\s*select\b/i.test(text)) return undefined;
  const [head = '', tail = ''] = text.split(/\border\s+by\b/i);
  const where = /\bwhere\b([^]*?)(?=\b(?:group\s+by|offset)\b|$)/i.exec(head)?.[1] ?? '';
  const orderText = tail.split(/\b(?:offset|limit)\b/i)[0] ?? '';
  const equal = [...where.matchAll(new RegExp(String.raw`(?:${FIELD})\s*(?:=(?!=)|\bIN\b)`, 'gi'))].map(
    (match) => match[1] ?? match[2] ?? '',
  );
  return {
    text,
    // With OR, an equality doesn't hold for all results.
    equal: /\bor\b/i.test(where.replaceAll(/\([^()]*\)/g, '')) ? [] : [...new Set(equal)],
    filters: [...new Set(fields(where))],
    order: orderText.split(',').flatMap((part) =>
      fields(part)
        .slice(0, 1)
        .map((path) => ({ path, descending: /\bdesc\b/i.test(part) })),
    ),
  };
}

const fields = (text: string): string[] =>
  [...text.matchAll(new RegExp(FIELD, 'gi'))].map((match) => match[1] ?? match[2] ?? '');
