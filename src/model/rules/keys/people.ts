// C26: documents of people, which a sign-in asks for by what the key doesn't have.
import type { ContainerDetail } from '../../documents.ts';
import { type Facts, examplesIn } from '../facts.ts';
import { type Field, fieldsOf, isAsked } from '../fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES } from '../rule.ts';

const PEOPLE =
  /^(?:app|web|site|unified|core)?[-_ ]?(?:users?|accounts?|members?|profiles?)(?:[-_ ]?(?:accounts?|profiles?|data))?$|^(?:\w+[-_])?(?:identit(?:y|ies)|external[-_]?logins?)$/i;
/** With a password a sign-in knows the address; with an identity of elsewhere, its id. */
const PASSWORD = /^(?:password|hashed)_?(?:hash|password|digest)?$/i;
const ADDRESS = /^(?:email|e_?mail_?address|user_?name|login)$/i;
const ELSEWHERE =
  /^(?:auth0?|azure(?:_?ad)?|aad|entra|b2c|google|github|facebook|apple|firebase|external|identity|idp|oauth|sso|clerk|cognito|provider)_?(?:auth|user|object|account)?_?(?:id|sub|subject|oid)$/i;
/** The field that a sign-in knows, if neither the key nor the id is it. */
function signIn(facts: Facts, detail: ContainerDetail): Field | undefined {
  const fields = fieldsOf(facts, detail);
  const outer = fields.find(({ field }) => ELSEWHERE.test(field));
  const known =
    outer ??
    (fields.some(({ field }) => PASSWORD.test(field)) ? fields.find(({ field }) => ADDRESS.test(field)) : undefined);
  if (!known) return undefined;
  const { partitionKey } = detail.container;
  const keys = partitionKey.map((path) => path.slice(1));
  const isKey = keys.some((key) => key === known.field || ADDRESS.test(key) || ELSEWHERE.test(key));
  // The id may be the identity that the sign-in knows.
  const id = fields.find(({ field }) => field === 'id');
  const isId =
    keys.includes('id') &&
    (examplesIn(detail.container).some((one) => one['id'] !== undefined && one['id'] === one[known.field]) ||
      (id !== undefined &&
        (facts.design?.lines[id.at.line - 1] ?? '').includes(known.field) &&
        id.at.line !== known.at.line));
  return isKey || isId ? undefined : known;
}

export const PEOPLE_RULES: readonly Rule[] = [
  {
    id: 'C26',
    title: 'A user is found at sign-in by the partition key',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Query a container in Azure Cosmos DB')}`,
    why: 'At a sign-in the application knows the address, or the id that another service gave the person. If the key of the users is a value of its own, each sign-in reads every partition. The rule looks at containers of users whose documents have a password, or an identity of another service (`azureId`, `auth_id`). It accepts a key or an id that is this value, a container with this value as its key, and a query that another rule judges.',
    hint: 'Let the id of the user be the id that the sign-in knows. Or keep a document for each address, whose id and key are the address, with the id of the user.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const people = facts.containers.filter(
        ({ container }) => PEOPLE.test(container.name) && container.partitionKey.length > 0,
      );
      for (const detail of people) {
        const known = signIn(facts, detail);
        const elsewhere = facts.containers.some(({ container }) => container.partitionKey[0] === `/${known?.field}`);
        if (known && !elsewhere && !isAsked(facts, detail, known.field))
          yield {
            message: `${detail.container.name}: a sign-in knows ${known.field}, and without the key ${detail.container.partitionKey.join(', ')} it reads every partition, and nothing keeps the value unique`,
            at: known.at,
            related: [facts.place(detail, 'partitionKey')],
          };
      }
    },
  },
];
