// C26 and C28: documents of people, which are asked for by what a key of one person doesn't have.
import type { ContainerDetail } from '../documents.ts';
import { saysCrossing } from '../reader/asked.ts';
import { type Facts, examplesIn, isOfId } from './facts.ts';
import { type Field, fieldsOf, isAsked } from './fields.ts';
import { type Rule, type RuleResult, DESIGN, SOURCES, missing } from './rule.ts';
import { isSaid, linesSaying } from './said.ts';

export const PEOPLE =
  /^(?:app|web|site|unified|core)?[-_ ]?(?:users?|accounts?|members?|profiles?)(?:[-_ ]?(?:accounts?|profiles?|data))?$|^(?:\w+[-_])?(?:identit(?:y|ies)|external[-_]?logins?)$/i;
/** With a password a sign-in knows the address; with an identity of elsewhere, its id. */
const PASSWORD = /^(?:password|hashed)_?(?:hash|password|digest)?$/i;
export const ADDRESS = /^(?:email|e_?mail_?address|user_?name|login)$/i;
const ELSEWHERE =
  /^(?:auth0?|azure(?:_?ad)?|aad|entra|b2c|google|github|facebook|apple|firebase|external|identity|idp|oauth|sso|clerk|cognito|provider)_?(?:auth|user|object|account)?_?(?:id|sub|subject|oid)$/i;
const SERVED = /\b(?:lookup|reservation|index) (?:container|document)|\bpoint[- ]reads? by `?e-?mail/i;

/** A group of people, which a sign-in doesn't know. */
const OF_GROUP = /^\/(?:family|household|team|group|department|class|club|league|crew)_?(?:id)?$/i;
/** What a sign-in says of the person. */
const CLAIMED = /\b(?:claims?|tokens?|jwt|invit\w+ code|roles? assignment)\b/i;
export const SIGNS_IN = /\b(?:log[- ]?in|sign[- ]?in|regist(?:er|ration)|password)\b/i;
export const IDENTITY =
  /\b(?:entra|azure ad|aad|b2c|auth0|oauth2?|oidc|firebase|clerk|cognito|okta|msal|sso|easy ?auth|google sign|static web app)\b/i;

const CROSSES = /cross[- ]partition|fan[- ]?out/i;

/** Without a word about an identity of elsewhere, a sign-in of this application knows the address. */
function addressOf({ design }: Facts, { container }: ContainerDetail, fields: readonly Field[]): Field | undefined {
  const address = fields.find(({ field }) => ADDRESS.test(field));
  const [key = ''] = container.partitionKey;
  return address &&
    design &&
    !ADDRESS.test(key.slice(1)) &&
    /^\/(?:id|user_?id)$/i.test(key) &&
    linesSaying(design, SIGNS_IN).length > 0 &&
    linesSaying(design, IDENTITY).length === 0
    ? address
    : undefined;
}

/** The field that a sign-in knows, if neither the key nor the id is it. */
function signIn(facts: Facts, detail: ContainerDetail): Field | undefined {
  const fields = fieldsOf(facts, detail);
  const outer = fields.find(({ field }) => ELSEWHERE.test(field));
  const known =
    outer ??
    (fields.some(({ field }) => PASSWORD.test(field)) ? fields.find(({ field }) => ADDRESS.test(field)) : undefined);
  if (!known) return addressOf(facts, detail, fields);
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

const OWN = /^(?:user|owner|sender|from_?user|requester|follower|initiator|member|player|profile)_?id$/i;
const OTHER =
  /^(?:friend|friend_?user|followed|followed_?user|followee|following|receiver|recipient|to_?user|target_?user|other_?user|addressee|connected_?user|matched_?user|contact_?user)_?id$/i;
const SENT = /^\/(?:sender|from|from_?user|author)_?(?:id)?$/i;
const MESSAGES = /^(?:private|direct|user|chat)?[-_]?(?:messages?|dms?|mails?|chats?)$/i;
const BOTH_SIDES =
  /\b(?:both|two|mirrored|dual|second) (?:documents?|records?|copies|directions|sides|partitions|writes)\b|\b(?:inverse|reverse|mirror)\w*\b|\bchange feed\b|双/i;

export const PEOPLE_RULES: readonly Rule[] = [
  {
    id: 'C26',
    title: 'A user is found at sign-in by the partition key',
    severity: 'warning',
    source: `${SOURCES.ours}; ${SOURCES.microsoft('Query a container in Azure Cosmos DB')}`,
    why: 'At a sign-in the application knows the address, or the id that another service gave the person. If the key of the users is a value of its own, each sign-in reads every partition. The rule looks at containers of users whose documents have a password, or an identity of another service (`azureId`, `auth_id`). It accepts a key or an id that is this value, a query or a lookup that another rule judges, and a text that says what finds the user.',
    hint: 'Let the id of the user be the id that the sign-in knows. Or keep a document for each address, whose id and key are the address, with the id of the user.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      const people = facts.containers.filter(
        ({ container }) => PEOPLE.test(container.name) && container.partitionKey.length > 0,
      );
      if (people.length === 0) {
        yield missing('a container of users');
        return;
      }
      for (const detail of people) {
        const [key = ''] = detail.container.partitionKey;
        if (OF_GROUP.test(key) && !isSaid(design, detail, CROSSES) && linesSaying(design, CLAIMED).length === 0) {
          yield {
            message: `${detail.container.name}: a sign-in knows the person, and not ${key.slice(1)}; without it the query reads every partition`,
            at: facts.place(detail, 'partitionKey'),
          };
          continue;
        }
        const known = signIn(facts, detail);
        const elsewhere = facts.containers.some(({ container }) => container.partitionKey[0] === `/${known?.field}`);
        if (!known || elsewhere || linesSaying(design, SERVED).length > 0) continue;
        const judged = isAsked(facts, detail, known.field);
        const says = linesSaying(design, CROSSES).some(
          ([, text]) => saysCrossing(text) && text.toLowerCase().includes(known.field.toLowerCase()),
        );
        if (!judged && !says)
          yield {
            message: `${detail.container.name}: a sign-in knows ${known.field}, and without the key ${detail.container.partitionKey.join(', ')} it reads every partition, and nothing keeps the value unique`,
            at: known.at,
            related: [facts.place(detail, 'partitionKey')],
          };
      }
    },
  },
  {
    id: 'C28',
    title: 'A relation between two people is found from both sides',
    severity: 'warning',
    source: SOURCES.microsoft('Data modeling in Azure Cosmos DB'),
    why: 'A document such as a friendship has two people, and its key is one of them. A query from the other side (requests to me, my followers, messages that I got) reads every partition. The rule looks for documents with the key of one person and a field of another (`userId` and `friendId`), and for messages under their sender. It accepts a text that names the second document, or what derives it, and says nothing where a query by this field is judged by C13.',
    hint: 'Derive a copy whose key is the other person, by a projection. Or state that a request from the other side crosses partitions.',
    needs: [DESIGN],
    *check(facts): Iterable<RuleResult> {
      const { design } = facts;
      if (!design) return;
      let looked = false;
      for (const detail of facts.containers) {
        const { container } = detail;
        const [first = ''] = container.partitionKey;
        const fields = fieldsOf(facts, detail);
        const other = fields.find(({ field }) => OTHER.test(field));
        // Messages under the sender have a receiver, whether a field is named or not.
        if (!other && SENT.test(first) && MESSAGES.test(container.name)) {
          looked = true;
          if (!isSaid(design, detail, BOTH_SIDES) && !isSaid(design, detail, CROSSES))
            yield {
              message: `${container.name} is found by ${first.slice(1)} only; a talk of two people lies in two partitions, and the receiver’s messages in all`,
              at: facts.place(detail, 'partitionKey'),
              hint: 'Use an id of the talk as the key (both ids in order), and keep for each person a list of talks.',
            };
          continue;
        }
        if (!other || !OWN.test(first.slice(1)) || isOfId(container)) continue;
        looked = true;
        const served = facts.containers.some((one) => one.container.partitionKey[0] === `/${other.field}`);
        const judged = isAsked(facts, detail, other.field);
        if (!served && !judged && !isSaid(design, detail, BOTH_SIDES) && !isSaid(design, detail, CROSSES))
          yield {
            message: `${container.name} is found by ${first.slice(1)} only; from the side of ${other.field} it reads every partition`,
            at: other.at,
            related: [
              facts.place(detail, 'partitionKey'),
              ...fields.filter(({ field }) => `/${field}` === first).map(({ at }) => at),
            ],
          };
      }
      if (!looked) yield missing('a relation between two people');
    },
  },
];
