import { type ErrorCatalogue, errorsOf } from '../base/error-catalogue.ts';

export const MODEL_ERRORS = {
  'container-key': {
    meaning:
      'A container of the data model has no partition key that Millrace can read, or more than three key levels.',
    hint: 'Write one to three paths under `- **Partition Key**:`.',
    usage: true,
  },
  'document-empty': {
    meaning: 'A modelling document is empty.',
    hint: 'Write it, or let `millrace model import` draft both documents.',
    usage: true,
  },
  'document-encoding': {
    meaning: 'A modelling document isn’t UTF-8 text.',
    hint: 'Save the document as UTF-8.',
    usage: true,
  },
  'document-too-deep': {
    meaning: 'Lists, quotes or JSON of a modelling document are nested too deeply to be read.',
    hint: 'Reduce the nesting; a modelling document needs about three levels.',
    usage: true,
  },
  'document-too-intricate': {
    meaning: 'A paragraph of a modelling document has too many Markdown marks such as `*`, `_` or `[` to be read.',
    hint: 'Put code and data into a fence, and add blank lines between paragraphs.',
    usage: true,
  },
  'document-too-large': {
    meaning: 'The file is larger than the 1 MB that a modelling document may have.',
    hint: 'Check that the path names the modelling document. Move data and logs to other files.',
    usage: true,
  },
  'document-too-slow': {
    meaning: 'Reading a modelling document took too long.',
    hint: 'Look for thousands of separate lists or quotes, or thousands of numbers in one table cell, and remove them.',
    usage: true,
  },
  'model-unreadable': {
    meaning: 'A modelling document doesn’t exist, or Millrace can’t read the file.',
    hint: 'Name a folder with `cosmosdb_data_model.md` and `cosmosdb_requirements.md`.',
    usage: true,
  },
  'model-without-containers': {
    meaning: 'Millrace found no container in the data-model document. It may design some in a form that isn’t read.',
    hint: 'Write each with its name and its key: a section `### Name Container` with `- **Partition Key**: /field`, or a table with the columns Container and Partition Key.',
    usage: true,
  },
  'not-a-model-document': {
    meaning: 'Millrace found no container in the file, and none of the headings of a data-model document.',
    hint: 'Name the `cosmosdb_data_model.md`, with a section `## Container Designs`.',
    usage: true,
  },
  'not-a-requirements-document': {
    meaning: 'The file has none of the headings of a requirements document.',
    hint: 'Name the `cosmosdb_requirements.md`, with a section `## Access Patterns Analysis`.',
    usage: true,
  },
  'review-unreadable': {
    meaning: 'The review beside a data model can’t be read, or has the wrong form.',
    hint: 'Compare it with the schema that `millrace model review --schema` prints.',
    usage: true,
  },
} as const satisfies ErrorCatalogue;

export const modelError = errorsOf(MODEL_ERRORS);
