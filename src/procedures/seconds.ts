/** Changes a second that one process applies in bulk if it has enough throughput; a round figure. */
const CHANGES_A_SECOND = 1_000;
/** Documents a second that one process reads and compares; a round figure. */
const READS_A_SECOND = 20_000;

/** Seconds that so many changes take, with at most so many request units a second. */
export const secondsToWrite = (changes: number, ru: number, ruPerSecond?: number): number =>
  Math.ceil(Math.max(changes / CHANGES_A_SECOND, ruPerSecond === undefined ? 0 : ru / ruPerSecond));

export const secondsToRead = (documents: number): number => Math.ceil(documents / READS_A_SECOND);
