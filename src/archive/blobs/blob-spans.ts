// A span for each request to the storage account that belongs to recorded work. Names of blobs hold tenants, so no span has one.
import { errorTypeOf } from '../../base/telemetry/opentelemetry.ts';
import { type Span, type SpanOptions, inChildSpan } from '../../base/telemetry/spans.ts';
import type { BlobContainer } from './blob-container.ts';
import { answerOf, isExpected } from './storage-answers.ts';

/** As the REST API names them. */
export type BlobOperation =
  | 'DeleteBlob'
  | 'GetBlob'
  | 'GetContainerProperties'
  | 'ListBlobs'
  | 'PutBlob'
  | 'SetBlobLegalHold'
  | 'SetBlobImmutabilityPolicy';

/** One attempt of a request. */
export async function inBlobSpan<T>(
  container: BlobContainer,
  operation: BlobOperation,
  call: (span: Span) => Promise<T>,
): Promise<T> {
  // An answer that is expected ends the span without an error, and is thrown all the same.
  const outcome = await inChildSpan(
    () => spanOf(container, operation),
    async (span) => {
      try {
        return { answer: await call(span) };
      } catch (error) {
        const { status, code } = answerOf(error);
        if (status !== undefined) span.set({ 'http.response.status_code': status });
        if (!isExpected(status, code)) span.fail(status === undefined ? errorTypeOf(error) : String(status));
        return { error };
      }
    },
  );
  if ('error' in outcome) throw outcome.error;
  return outcome.answer;
}

function spanOf({ containerName, url }: BlobContainer, operation: BlobOperation): SpanOptions {
  const { hostname, port } = new URL(url);
  return {
    name: `${operation} ${containerName}`,
    kind: 'client',
    attributes: {
      'azure.resource_provider.namespace': 'Microsoft.Storage',
      'millrace.blob.operation': operation,
      'millrace.blob.container': containerName,
      'server.address': hostname,
      ...(port !== '' && { 'server.port': Number(port) }),
    },
  };
}
