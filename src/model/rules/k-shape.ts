// K25 to K30: completeness and agreement of the document.
import { questions } from './question.ts';

export const SHAPE_QUESTIONS = questions('shape', [
  {
    id: 'K25',
    title: 'What the uses need has a place',
    ask: [
      'Go through each feature, endpoint, screen, job, message and role that the text names. Which thing that it must store, list, count, resume, approve or delete has no container, no type or no document shape?',
      'A container without a key, without any document shape, without anything that reads or writes it. An entity that others refer to by id and that has no home. A shape that is left open ("etc.", "any") where readers depend on it.',
      'A thing that is promised (search, history, undo, versions, export) with nothing in the model for it.',
    ],
    not: 'What the text puts out of scope or leaves to another document or a later phase.',
    known: 'Somebody who builds by the document invents what is missing, and two people invent two things.',
    hint: 'Add the type with its key, id and fields, or say where it is.',
  },
  {
    id: 'K26',
    title: 'Each field that a use needs is stored, and each reference can be followed',
    ask: [
      'For each query, sort, rule, formula and message: does the document that it reads have these fields, under that name, at that path?',
      'Timestamps that a window, a sweep or a sort needs; who did it; the type discriminator; the tenant; the status; the reason; the version.',
      'References: does the stored value identify the target (its id and its key), is it one kind of id everywhere, does the target exist?',
      'A field that the text says is set and no shape has, or that is in a shape and nothing ever sets.',
    ],
    not: 'Fields that samples leave out with an ellipsis.',
    known: 'A filter on a field that no document has finds nothing, without an error (ASM-E19).',
    hint: 'Add the field where it is written, under one name.',
  },
  {
    id: 'K27',
    title: 'States are reached, left and told apart',
    ask: [
      'Draw the states of each type from the text: is each one in the list of values, set by something, and left by something? A state that only one place knows, two words for one state, one word for two.',
      'Does a rule or query ask for a state that nothing sets, or miss one (cancelled, failed, expired, paused, archived)?',
      'Which side rules if two fields say it (a flag and a status, null and absent, an end date and a state)?',
      'Rules of a protocol that contradict each other, so that a case can never, or must always, be refused.',
    ],
    not: 'A list of values that the text calls open.',
    known: 'A state machine in a document is only as good as its writers; the store checks no values (ASM-E158).',
    hint: 'Give a table of states with who sets each and what follows.',
  },
  {
    id: 'K28',
    title: 'The document doesn’t contradict itself',
    ask: [
      'Compare what stands in more than one place: names and number of containers, keys, TTL, throughput, prices, limits, periods, lists of values, versions, endpoints, owners, who may do what, what is in and out of scope, diagrams and text, text and code, summary and details.',
      'A sentence with "only", "all", "never", "always", "exactly", "no X needed" that another place breaks.',
      'A decision or a principle (immutable, append-only, no cross-partition query, stateless) that a step of the same document breaks.',
    ],
    not: 'Two wordings where you can’t name the two different things that would be built, a summary that rounds, a plan beside the present state that is called so.',
    known: 'Each of two places will be built by somebody.',
    hint: 'Decide, and correct the other place.',
  },
  {
    id: 'K29',
    title: 'Samples keep the rules of the text, and agree with one another',
    ask: [
      'Recalculate each sample: sums, counts against lists, averages, durations, hashes and lengths, ids by their rule, keys by theirs, dates of the week.',
      'Do ids that refer to each other match, do types match (number, text, null), are values from the lists, is the state possible (a member of a cluster without its id, finished without an end)?',
      'Do file names, units and formats follow the rule that stands beside them?',
    ],
    not: 'Placeholders such as `…`, `abc`, `<id>`, shortened text.',
    known: 'Samples are copied into tests and code.',
    hint: 'Correct the sample, or the rule if the sample is right.',
  },
  {
    id: 'K30',
    title: 'Each value has one type and one form that its use allows',
    ask: [
      'What is sorted, compared or summed: texts that stand for numbers, priorities or dates; a field with two types (number or text, one or a list, null or absent).',
      'Numbers above 2^53, money as a fraction, durations and units that a name doesn’t tell, time zones, letters of both cases in e-mails and keys.',
      'A list or map keyed by something that can hold a dot or change; a polymorphic reference without its kind; a flag for what has three values.',
      'Can the model hold what the domain has: two projects at once, a second address, a change in the middle of a season, several currencies?',
    ],
    not: 'Types that only a display reads.',
    known:
      'Order across types is by type first (ASM-E21), texts sort letter by letter, and numbers are doubles (ASM-E90).',
    hint: 'Choose the type by the comparison that is made.',
  },
]);
