// What the examples of a container must have because patterns need it (for C21).
import { isObject } from '../../../base/json.ts';
import type { ContainerDetail } from '../../documents.ts';
import { type Access, type Facts, examplesIn } from '../facts.ts';
import { type Found, together } from '../rule.ts';

/** All names of fields, at any depth. */
function namesIn(value: unknown, into = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const item of value) namesIn(item, into);
  else if (isObject(value))
    for (const [name, member] of Object.entries(value)) {
      into.add(name.toLowerCase());
      namesIn(member, into);
    }
  return into;
}

/** `lowestBattery`, `placed_at`: names that no sentence has. */
const FIELD = /(?<![\w./])[a-z][a-z0-9]+(?:[A-Z][a-z0-9]+|_[a-z0-9]+)+(?![\w(/.])/g;

/** What a request has, and no document. */
const OF_REQUEST = /^(?:page|continuation|cursor|limit|offset|sort|search|idempotency)/i;
/** `fromDate`, `priceMax`: the ends of a range that a request gives. */
const OF_RANGE =
  /^(?:from|to|start|end|min|max)(?=[A-Z_])|(?:From|To|Start|End|Min|Max)$|_(?:from|to|start|end|min|max)$/;
const COMPUTED = /\b(?:count|sum|avg|min|max)\s*\(|\bgroup by\b/i;

function absent({ pattern, row }: Access, details: readonly ContainerDetail[]): string[] {
  const containers = details.map(({ container }) => container);
  if (!pattern || containers.some((container) => container.partialExamples || examplesIn(container).length === 0))
    return [];
  const known = namesIn(containers.flatMap(examplesIn));
  const query = `${row.operationText} ${row.notes}`.toLowerCase();
  if (COMPUTED.test(query)) return [];
  const types = new Set(containers.flatMap(({ types: all }) => all.map(({ name }) => name.toLowerCase())));
  const asked = [...new Set(pattern.attributes.match(FIELD))];
  return asked.filter((name) => {
    const lower = name.toLowerCase();
    return (
      !OF_REQUEST.test(name) &&
      !OF_RANGE.test(name) &&
      !known.has(lower) &&
      !types.has(lower) &&
      !new RegExp(String.raw`(?:\bas |@)${lower}\b`).test(query)
    );
  });
}

/** Names such as `lowestBattery` among the attributes of a pattern that no document of its row's containers has. */
export function* lackingAttributes(facts: Facts): Iterable<Found> {
  for (const access of facts.accesses) {
    const { row, pattern, detail } = access;
    const details = row.containers.flatMap((name) => facts.detail(name) ?? []);
    const names = absent(access, details.length > 0 ? details : [detail]);
    if (!pattern || names.length === 0) continue;
    yield* together(
      [{ at: pattern.at }],
      `Pattern ${pattern.printed} needs ${names.join(', ')}, which no example of ${row.containers.join(' or ')} has`,
      [row.at],
    );
  }
}
