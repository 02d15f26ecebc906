/** The tenant that every token comes from; no database may be called so, as those live under `dbs`. */
export const TENANT = 'a1e2c3d4-6d69-4c6c-9261-636500000001';
