export { near } from '../model/near.ts';
