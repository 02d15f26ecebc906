// K41 to K45: access, secrets, and beliefs about the service.
import { questions } from './question.ts';

export const TRUST_QUESTIONS = questions('trust', [
  {
    id: 'K41',
    title: 'Who may read and write is checked against something trusted',
    ask: [
      'Where does the user, tenant or role come from: a token that is verified, or a path, a body, a header, a claim that nobody looks up again? Is an id enough to read another’s document?',
      'Is each query, cache, blob path, search index, trigger and background job limited to the tenant? Who may see shared or published documents, and what is in them?',
      'Environments or tenants that are said to be isolated and share an account, its keys or a container. A right that Cosmos DB can’t grant (a wildcard, a field, a query).',
      'Who may write what the rules protect: the audit, the status, the price, by another way than the checked one?',
    ],
    not: 'Access that the text leaves to another document by name.',
    known:
      'A partition key checks nothing. Keys of an account open all its databases; a permission names a container or one key value (ASM-E171).',
    hint: 'Take the tenant from the verified token, and put it into the key of each read.',
  },
  {
    id: 'K42',
    title: 'Secrets and personal data are stored as the text promises',
    ask: [
      'Passwords, tokens, keys, codes in clear or with a fast hash; short codes without a limit of attempts; secrets in logs, in lists, in URLs, in samples, in configuration.',
      'Redaction, anonymisation, encryption or erasure that the text promises and a stored field breaks. Personal data in ids, keys, audit, cached answers, embeddings, prompts.',
      'More personal data than a use needs, or kept longer.',
    ],
    not: 'Encryption at rest, which the service does by itself.',
    known: 'Whoever may read a container sees all fields; backups, logs and the change feed have them too.',
    hint: 'Store a salted hash or a reference to a vault, and leave out what no use needs.',
  },
  {
    id: 'K43',
    title: 'What is said of Cosmos DB, Functions and the SDKs is so',
    ask: [
      'Take each sentence of the form "Cosmos does, ensures, supports, requires, can’t": is it true, in this mode, in this version? Features that must be "enabled", limits, defaults, what is free, what is automatic, what is atomic, what is notified.',
      'Words of other databases used as if they were here: foreign keys, joins, triggers on write, sequences, secondary indexes with names, stored views, pausing, row locks.',
      'A step that rests on it: what fails if it isn’t so?',
    ],
    not: 'A loose word that nobody builds by. If you aren’t sure, don’t report it.',
    known: 'A wrong belief passes every test that is written from it.',
    hint: 'Look it up, link the page, and change the step that rests on it.',
  },
  {
    id: 'K44',
    title: 'Failures are noticed and handled',
    ask: [
      'What does each path do on 429, 409, 412, a timeout, a failed dependency, a poisoned message, a partly failed batch? An error that is logged and then forgotten where the data is called mandatory.',
      'A job that overlaps with itself, takes longer than its schedule or its time limit, reads everything each time, stops at the first fault, or has no place where it goes on.',
      'Monitoring that watches something else than what fails; a lost event that nothing would show.',
    ],
    not: 'General wishes for more monitoring or tests.',
    known:
      'An SDK repeats throttled requests some times and then throws. The JavaScript client repeats no write after a timeout (ASM-E26); others differ, by version.',
    hint: 'Say for each failure who repeats, until when, and where it becomes visible.',
  },
  {
    id: 'K45',
    title: 'The rules of the domain hold in this model',
    ask: [
      'Take the sentences that say what must be true in the business: who may approve whom, what can be undone, what counts, what is final, what belongs to whom. Play an ordinary week through the model, then an awkward one: a change of mind, two at once, a correction of the past, a transfer, a person in two roles, an empty set, the first and the last one.',
      'Where does the model lose something, permit what is forbidden, or forbid what must be possible?',
    ],
    not: 'Features that nobody asked for.',
    known:
      'The dearest defects aren’t of the database: a model that can’t hold a fact of the domain is found after months.',
    hint: 'Add the fact to the model, or the rule to the text.',
  },
]);
