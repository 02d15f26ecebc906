// J50: secrets that a reader of the documents can use, and codes that can be guessed.
import { type Annotation, type Annotations, same } from '../annotations/annotations.ts';
import { type TypeField, type WholeType, listed, typesOf } from '../annotations/merged.ts';
import { isExisting } from '../annotations/scale.ts';
import { type Found, type Rule, ANNOTATIONS, SOURCES, hinted, missing, n, together } from './rule.ts';

interface Secret {
  readonly type: WholeType;
  readonly field: TypeField;
}

const secretsOf = (annotations: Annotations, ...how: readonly TypeField['secret'][]): Secret[] =>
  typesOf(annotations)
    .filter(({ name }) => !isExisting(annotations, { type: name }))
    .flatMap((type) => type.fields.filter(({ secret }) => how.includes(secret)).map((field) => ({ type, field })));

const nameOf = ({ type, field }: Secret): string => `${type.name}.${field.path}`;

const PASSWORD = /pass(?:word|wd|phrase)|pwd|\bpin\b/i;

function* plain(annotations: Annotations): Iterable<Found> {
  const all = secretsOf(annotations, 'plain');
  const passwords = all.filter(({ field }) => PASSWORD.test(field.path));
  const one = all.length === 1;
  yield* hinted(
    together(
      all.map(({ field }) => field),
      `${listed(all.map(nameOf))} ${one ? 'is' : 'are'} stored as ${one ? 'it is' : 'they are'}: whoever reads a document, a backup, a log or the change feed has ${one ? 'it' : 'them'} and can act as that user`,
    ),
    passwords.length > 0
      ? `Store a salted hash of ${listed(passwords.map(nameOf))} by a slow function (Argon2, bcrypt, PBKDF2), and leave it out of what queries return${passwords.length < all.length ? '; keep the others in Key Vault, or encrypted' : ''}.`
      : `Keep ${listed(all.map(nameOf))} in Key Vault, or encrypted; of a token that is only compared, store a hash.`,
  );
}

const CODE = /otp|code|pin\b|passcode/i;
const DIGITS = /(?<![\d.])([3-8])[- ]?(?:digits?\b|자리|stellig|chiffres|cifre|dígitos|桁|位)/i;
const COUNTED = /attempt|tries|retry|fail|lock|block|wrong/i;
const LIMITED =
  /(?:max|limit|number|count|allowed)\w*.*(?:attempts|tries|failures)|(?:attempts|tries|failures).*(?:max|limit|number|count|allowed)|lock-?out|rate.?limit/i;
const SLOW = /salt|pepper|hmac|bcrypt|scrypt|argon|pbkdf/i;

/** How many digits a code has, by its field or by a sentence on codes. */
function digitsOf(
  annotations: Annotations,
  { field }: Secret,
): { digits: number; stated: readonly Annotation<'fact'>[] } {
  const own = DIGITS.exec(field.format ?? '')?.[1];
  const stated = annotations
    .of('fact')
    .filter((fact) => CODE.test(fact.of) && DIGITS.test(`${fact.property} ${fact.value} ${fact.unit ?? ''}`));
  const digits = own ?? DIGITS.exec(`${stated[0]?.property} ${stated[0]?.value} ${stated[0]?.unit ?? ''}`)?.[1] ?? '0';
  return { digits: Number(digits), stated };
}

/** A code of a few digits is found by trying, so something must count the attempts. */
function* guessed(annotations: Annotations): Iterable<Found> {
  for (const secret of secretsOf(annotations, 'hash', 'plain', 'encrypted', 'unsaid')) {
    const { type, field } = secret;
    if (!CODE.test(field.path) && !CODE.test(type.name)) continue;
    const { digits, stated } = digitsOf(annotations, secret);
    const counted =
      type.fields.some(({ path }) => COUNTED.test(path) && !same(path, field.path)) ||
      annotations.of('quota').some(({ what, words }) => COUNTED.test(`${what} ${words}`)) ||
      annotations.of('fact').some((fact) => LIMITED.test(`${fact.of} ${fact.property}`));
    if (digits === 0 || counted) continue;
    const values = 10 ** digits;
    const fast = field.secret === 'hash' && !annotations.lines.some((line) => SLOW.test(line));
    yield* hinted(
      together(
        [field, ...stated],
        `${nameOf(secret)} is a code of ${digits} digits, and ${type.name} has no number of attempts and no lock: ${n(values)} values are tried by a program while the code is valid${fast ? `. Its hash has no salt by the text, so whoever reads the document finds the code among ${n(values)} hashes at once` : ''}`,
        type.places,
      ),
      `Count failed attempts in the ${type.name}, raised by a patch with a condition, and refuse the code after a few${fast ? '; hash it with a salt or a key (HMAC)' : ''}.`,
    );
  }
}

export const STORED_SECRETS: readonly Rule[] = [
  {
    id: 'J50',
    title: 'Secrets aren’t stored as they are, and short codes have a number of attempts',
    severity: 'warning',
    source: SOURCES.ours,
    why: 'Who may read a container sees all fields of its documents, and backups, logs and the change feed have them too. A password belongs there only as a salted hash, a key belongs into a vault. A code of six digits has a million values: without a number of attempts a program tries them all, and an unsalted hash of it is reversed in a second. The rule takes fields that the annotations call secret and plain, and codes whose number of digits the text states.',
    hint: 'Store a salted hash, keep keys in a vault, and count attempts.',
    needs: [ANNOTATIONS],
    *check({ annotations }) {
      if (!annotations) return;
      if (secretsOf(annotations, 'plain', 'hash', 'encrypted', 'unsaid').length === 0) yield missing('a secret');
      yield* plain(annotations);
      yield* guessed(annotations);
    },
  },
];
