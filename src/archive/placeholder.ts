/** Time to live of a placeholder after a restore that crashed, seconds. The next restore may take it over before. */
export const RESTORING_TTL_S = 300;
