import { UsageError } from '../base/errors.ts';
import { ARCHIVE_ERRORS } from './errors.ts';

/** Thrown if a blob is in the Archive tier, where it can't be read. */
export class BlobOffline extends UsageError<'blob-offline'> {
  /** Its name in the blob container. */
  readonly blob: string;
  /** Its rehydration has begun, and takes hours. */
  readonly rehydrating: boolean;

  constructor(
    blob: string,
    { rehydrating, where, cause }: { readonly rehydrating: boolean; readonly where: string; readonly cause?: unknown },
  ) {
    const what = `Blob ${blob} of the blob container ${where} is in the Archive tier, where it can't be read`;
    const message = rehydrating ? `${what} until its rehydration has ended` : what;
    const hint = rehydrating
      ? 'Wait until `millrace archive rehydrations` shows that it can be read.'
      : ARCHIVE_ERRORS['blob-offline'].hint;
    super('blob-offline', message, { hint, cause });
    this.blob = blob;
    this.rehydrating = rehydrating;
  }
}
