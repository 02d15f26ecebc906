/** The PostgreSQL schema of BullMQ's tables: the only one that it accepts with a connection pool of ours. */
export const JOBS_SCHEMA = 'bullmq';
