import { isObject } from '../base/json.ts';
import { withoutSecrets } from '../base/secrets.ts';

/** Most elements of a list, and most characters of a text, that a page gets. */
const MOST_ELEMENTS = 1_000;
const MOST_CHARACTERS = 20_000;
const DEEPEST = 40;

/** Fields that always hold a secret, whatever its form. */
const SECRET_FIELD =
  /^(password|passwd|pwd|secret|client[-_]?secret|api[-_]?key|account[-_]?key|access[-_]?token|refresh[-_]?token|authorization|connection[-_]?string)$/i;

/** A result as pages may show it: no secrets, and no more of a list or a text than a page can show. */
export function shownOnPage(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return withoutSecrets(value, MOST_CHARACTERS);
  if (depth > DEEPEST) return '…';
  if (Array.isArray(value)) return value.slice(0, MOST_ELEMENTS).map((one) => shownOnPage(one, depth + 1));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, of]) => [
      name,
      SECRET_FIELD.test(name) && typeof of === 'string' ? '***' : shownOnPage(of, depth + 1),
    ]),
  );
}
