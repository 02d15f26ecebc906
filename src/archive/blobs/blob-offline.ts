import { UsageError } from '../../base/errors.ts';
import { ARCHIVE_ERRORS } from '../errors.ts';

/** Thrown if a blob is in the Archive tier, where it can't be read. */
export class BlobOffline extends UsageError<'blob-offline'> {
  readonly blob: string;

  constructor(blob: string, where: string, cause?: unknown) {
    const message = `Blob ${blob} of the blob container ${where} is in the Archive tier, where it can't be read`;
    super('blob-offline', message, { hint: ARCHIVE_ERRORS['blob-offline'].hint, cause });
    this.blob = blob;
  }
}
