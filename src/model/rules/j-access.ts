// J30: whose documents a request may see, and what decides it.
import { type Annotation, type Annotations, fieldOf, same, sameField } from '../annotations/annotations.ts';
import { listed } from '../annotations/merged.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, together } from './rule.ts';

type Tenancy = Annotation<'tenancy'>;

function* wildcards(annotations: Annotations): Iterable<Found> {
  const all = annotations.of('tenancy').filter(({ wildcard }) => wildcard === true);
  const fields = listed(
    all.flatMap(({ field }) => field ?? []),
    'or',
  );
  yield* hinted(
    together(
      all,
      `A resource token with a wildcard${fields === '' ? '' : ` in ${fields}`} can’t be made: a permission names one resource, and for a part of a container a value of its partition key, letter by letter. The pattern matches no document, or the token is made for the whole container`,
      annotations
        .of('tenancy')
        .flatMap(({ by, wildcard, at }) => (by === 'resource-token' && wildcard !== true ? [at] : [])),
    ),
    'Give each session a token for its own value of the partition key, or let a service of yours check who asks and query for them.',
    'error',
  );
}

const FROM_CLIENT: ReadonlySet<Tenancy['from']> = new Set(['route', 'body', 'header']);

/** A token that a request may leave out proves nothing. */
const isOptional = (annotations: Annotations): Annotation<'fact'>[] =>
  annotations
    .of('fact')
    .filter(
      ({ of, property, value }) =>
        /token|auth|sign-?in|login/i.test(`${of} ${property}`) &&
        ((/required|mandatory/i.test(property) && /^(?:false|no|optional)$/i.test(String(value))) ||
          (/optional/i.test(property) && /^(?:true|yes)$/i.test(String(value)))),
    );

/** The text knows who may see what, and leaves it to what is there or to another document. */
const ELSEWHERE =
  /\bexisting (?:identity|auth\w*|security|access|tenancy) (?:model|scheme|check)|\bno new auth|\bauth(?:entication|orization|n|z)? (?:is |are )?(?:out of scope|not part of)/i;

function* unchecked(annotations: Annotations): Iterable<Found> {
  const all = annotations.of('tenancy').filter(({ field }) => field !== undefined);
  const optional = isOptional(annotations);
  for (const group of Map.groupBy(all, ({ field }) => fieldOf(field ?? '').toLowerCase()).values()) {
    const [first] = group;
    const field = fieldOf(first?.field ?? '');
    const given = group.filter(({ from, checked }) => FROM_CLIENT.has(from) && checked !== true);
    const checks = group.filter(({ checked }) => checked === true);
    // The check of a token is a check of the route too, unless the token may be left out.
    const covers = checks.some(({ from }) => from !== 'token') || (checks.length > 0 && optional.length === 0);
    if (given.length === 0 || covers) continue;
    if (given.some(({ at }) => ELSEWHERE.test(annotations.lines[at.line - 1] ?? ''))) continue;
    const byKey = group.filter(({ by }) => by === 'key');
    yield* hinted(
      together(
        given,
        `${field} comes from the ${listed([...new Set(given.flatMap(({ from }) => from ?? []))])} of the request, and nothing compares it with the signed-in user${optional.length > 0 ? ', who may send no token at all' : ''}: whoever knows or guesses another ${field} reads and writes that one’s documents${byKey.length > 0 ? `. That ${field} is the partition key doesn’t help: a key says where documents are, and not who may see them` : ''}`,
        [...byKey, ...optional].map(({ at }) => at),
      ),
      `Take ${field} from the validated token and not from the request, or answer 403 if the two differ.`,
    );
  }
}

/** A field that says which person it is. */
const PERSON = /user|person|owner|profile|member|customer|account|author|player|student|patient|sub$|oid$|email/i;

function* shared(annotations: Annotations): Iterable<Found> {
  const fields = new Set(
    annotations.of('tenancy').flatMap(({ field }) => (field === undefined ? [] : [fieldOf(field)])),
  );
  for (const container of annotations.containers) {
    const [path, second] = annotations.keyOf(container) ?? [];
    const field = path === undefined ? '' : fieldOf(path);
    // What a club or a team shares, it shares on purpose.
    if (second !== undefined || !PERSON.test(field) || ![...fields].some((one) => sameField(one, field))) continue;
    const one = annotations
      .of('keyValue')
      .filter((value) => same(value.container, container) && value.distinct === 'one');
    const whose = annotations
      .of('tenancy')
      .filter((each) => each.field !== undefined && sameField(each.field, field) && each.from === 'token');
    const from = listed(one.flatMap(({ format, from: made = [] }) => format ?? made));
    yield* hinted(
      together(
        one,
        `${field} says whose the documents of ${container} are, but ${from === '' ? 'it has' : `${from} gives`} one value for all who sign in: they share one partition, and each sees and changes the others’ documents`,
        whose.map(({ at }) => at),
      ),
      `Make ${field} from the name of the person in the validated token (its \`sub\` or \`oid\`), and not from what all have in common.`,
    );
  }
}

export const ACCESS_RULES: readonly Rule[] = [
  {
    id: 'J30',
    title: 'Whose documents a request sees follows from who signed in',
    severity: 'warning',
    source: SOURCES.microsoft('Secure access to data in Azure Cosmos DB'),
    why: 'A partition key says where documents are, and not who may see them. An id of a user or tenant that the client sends is a wish. A resource token is for one resource and at most one value of its key, with no wildcard (ASM-E171). The rule takes where the field comes from that says whose a document is, and whether any place compares it with the signed-in user.',
    hint: 'Derive the user from the validated token, one value for each person, and compare.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (annotations.of('tenancy').length === 0) yield missing('a sentence on who may see which documents');
      yield* wildcards(annotations);
      yield* unchecked(annotations);
      yield* shared(annotations);
    },
  },
];
