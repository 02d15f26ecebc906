import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const COSMOS_ERRORS = {
  'ambiguous-outcome': {
    meaning: 'A write got no answer, so it is unknown whether it took effect.',
    hint: 'Read the document, compare, and then decide whether to write again.',
    retryable: true,
  },
  'budget-denied': usage(
    'This identity may not write the state container, through which all processes share RU_BUDGET.',
    'Give the identity the role "Cosmos DB Built-in Data Contributor" on the database, or leave out RU_BUDGET for this command.',
  ),
  'budget-unshared': {
    meaning: 'The process could not reach the state container for a minute, so it has no share of RU_BUDGET.',
    hint: 'Check that the account is reachable and that the state container has enough throughput (429s in its metrics).',
    retryable: true,
  },
  'container-missing': usage(
    'The database has no container of this name.',
    'Create the container, or correct its name.',
  ),
  'multi-region-writes': usage(
    'The account accepts writes in several regions, so order, ETags and leases can’t be relied on.',
    'Use an account with one write region for sources, sinks and leases.',
  ),
  'query-interrupted': {
    meaning:
      'A request failed in the middle of a query that can’t be resumed, because the client sorts or combines its results.',
    hint: 'Run the query again from its beginning.',
    retryable: true,
  },
  'query-lost': {
    meaning: 'A physical partition was split, and the client asks again and again for the partition that is gone.',
    hint: 'Repeat the query with a new `CosmosClient`: this one keeps its old list of partitions.',
    retryable: true,
  },
} as const satisfies ErrorCatalogue;

export const cosmosError = errorsOf(COSMOS_ERRORS);
