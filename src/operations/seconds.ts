/** Changes a second that one process is taken to get through in bulk: a round figure, where throughput isn't what is scarce. */
const CHANGES_A_SECOND = 1_000;
/** Documents a second, read and compared by one process; likewise. */
const READS_A_SECOND = 20_000;

/** Seconds that writing what so many changes give takes, at most so many request units a second. */
export const secondsToWrite = (changes: number, ru: number, ruPerSecond?: number): number =>
  Math.ceil(Math.max(changes / CHANGES_A_SECOND, ruPerSecond === undefined ? 0 : ru / ruPerSecond));

export const secondsToRead = (documents: number): number => Math.ceil(documents / READS_A_SECOND);
