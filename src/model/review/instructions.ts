// What the reader of a data model is told: how to review it, and the form of the file to write.
import { z } from 'zod';
import { type Lined, reviewMarkOf } from './review.ts';
import { reviewSchema } from './schema.ts';

export const reviewJsonSchema = (): object => z.toJSONSchema(reviewSchema, { io: 'input' });

/** @param into the name of the file to write */
export const reviewInstructions = (document: string, into: string, { lines }: Lined): string => `# Review ${document}

Review this data model of Azure Cosmos DB for NoSQL, and write \`${into}\`: JSON of the schema below, with \`"text": "${reviewMarkOf(lines.join('\n'))}"\`. \`millrace model check\` looks whether your words are in the document, and reports your concerns. The team decides by them.

1. Read the whole document as an engineer who must build and run this: each container and its key, each read and write, each job, each sample and each figure. Then go through it again from top to bottom: what have you missed?
2. For each suspicion, look for the sentence anywhere in the document that answers it. Play the case through: who does what, and what is then wrong in the data, the bill or on the screen? If you can't name that, or the text weighs it and accepts it, drop it.
3. Write one concern for one cause, under the number of the question that it answers, such as K3. \`what\` names the container, field or step, the cause, and the result. \`remedy\` is one way that works in Cosmos DB and with the rest of the document.
4. Quote the line: \`words\` are copied from the document, at the place that must change.
5. Grade the harm honestly. Leave out taste, general advice, and a risk without a case.

## JSON Schema

${JSON.stringify(reviewJsonSchema(), null, 2)}`;
