import { MillraceError } from '../../base/errors.ts';

/** A handler took longer than `handlerTimeoutMs`; the reason of its signal. */
export class HandlerTimeout extends MillraceError<'handler-timeout'> {
  constructor(ms: number) {
    super('handler-timeout', `The handler took longer than ${ms} ms`, {
      retryable: true,
      mend: 'Raise handlerTimeoutMs, or lower maxItems, so that a page takes less time.',
    });
  }
}
