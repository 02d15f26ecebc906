/** The access tiers of Blob Storage below Hot, as a pipeline names them, from the warmest to the coolest. */
export const COOLER_TIERS = ['cool', 'cold', 'archive'] as const;
export type CoolerTier = (typeof COOLER_TIERS)[number];
