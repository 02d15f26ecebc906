/** The generator of the users' test kit, for tests of our own. */
export { Dice as Random } from '../../src/testing/dice.ts';
