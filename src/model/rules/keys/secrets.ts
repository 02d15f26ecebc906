// C39: secrets in documents that lists return whole.
import type { ContainerDetail, Design } from '../../documents.ts';
import type { SourceLine } from '../../model.ts';
import { declaredFor } from '../declared-for.ts';
import type { Facts } from '../facts.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, together } from '../rule.ts';

const SECRET =
  /(?:^|_|[a-z](?=[A-Z]))(?:password_?hash|password|passwd|(?:mfa|totp|otp|client|signing|webhook)_?secret|api_?key|(?:access|refresh|oauth|bearer)_?token|private_?key)$/i;
/** The name of a secret elsewhere, a mark, or a value that is of no use. */
const NO_SECRET =
  /vault|\bref(?:erence)?\b|secret_?name|_?(?:uri|url|id)\b|encrypted|hashed|masked|required|expires?|bool/i;
const WHOLE = /\bSELECT\s+(?:\*|VALUE\s+\w+\s+FROM)/i;

interface Secret {
  readonly field: string;
  readonly at: SourceLine;
}

/** Fields whose name and line show a secret. */
const secretsIn = (design: Design, fields: readonly Secret[]): Secret[] =>
  fields.filter(
    ({ field, at }) => SECRET.test(field) && !NO_SECRET.test(field) && !NO_SECRET.test(design.lines[at.line - 1] ?? ''),
  );

/** A list that returns the documents whole. */
const listOf = (facts: Facts, detail: ContainerDetail): SourceLine | undefined =>
  facts
    .asked(detail)
    .find(({ queries }) =>
      queries.some(({ text, equal }) => WHOLE.test(text) && !equal.includes('id') && equal.length > 0),
    )?.at;

export const SECRETS: readonly Rule[] = [
  {
    id: 'C39',
    title: 'Secrets aren’t in documents that lists return',
    severity: 'warning',
    source: SOURCES.microsoft('Data modeling in Azure Cosmos DB'),
    why: '`SELECT *` of a list of users returns the hash of each password and the secret of each second factor to the code that shows the list: the program has to leave them out in every place, and one forgets. The same holds for backups and the change feed. The rule compares fields with the names of secrets with queries that return whole documents. It passes over names of secrets in a vault.',
    hint: 'Store credentials in a document of their own (`credential|<user>`, read only at sign-in) or in a vault with their name here, and name the fields in the SELECT of lists.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const all = facts.containers
        .map((detail) => ({ detail, secrets: secretsIn(design, declaredFor(design, detail)) }))
        .filter(({ secrets }) => secrets.length > 0);
      for (const { detail, secrets } of all) {
        const list = listOf(facts, detail);
        if (list)
          yield* together(
            [{ at: list }],
            `${detail.container.name}: this list returns whole documents, with ${secrets.map(({ field }) => field).join(', ')}`,
            secrets.map(({ at }) => at),
          );
      }
    },
  },
];
