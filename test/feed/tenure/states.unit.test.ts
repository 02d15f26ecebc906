import { describe, expect, it } from 'vitest';
import { type Event, type State, TRANSITIONS, isTerminal, nextState } from '../../../src/feed/tenure/states.ts';

const states = Object.keys(TRANSITIONS) as State[];
const after = (state: State): State[] =>
  Object.values(TRANSITIONS[state]).filter((next): next is Exclude<typeof next, 'impossible'> => next !== 'impossible');
/** What leads into a state. */
const into = (to: State): string[] =>
  states.flatMap((state) =>
    (Object.keys(TRANSITIONS[state]) as Event[])
      .filter((event) => TRANSITIONS[state][event] === to)
      .map((event) => `${state} ${event}`),
  );

describe('the table of a supervisor', () => {
  it('the table of a supervisor leads from the start to every state, and from every state to an end', () => {
    const reached = new Set<State>(['awaiting']);
    for (const state of reached) for (const next of after(state)) reached.add(next);
    expect([...reached].toSorted()).toEqual(states.toSorted());
    for (const state of states) {
      const from = new Set<State>([state]);
      for (const one of from) for (const next of after(one)) from.add(next);
      expect([...from].filter(isTerminal)).not.toEqual([]);
    }
  });

  it('the table of a supervisor ends where it ends', () => {
    expect(states.filter((state) => after(state).length === 0)).toEqual(states.filter(isTerminal));
  });

  it('the table of a supervisor ends a lost lease at once, in every state', () => {
    for (const state of states.filter((one) => !isTerminal(one))) expect(nextState(state, 'lost')).toBe('lost');
  });

  it('the table of a supervisor splits or offers a lease only once everything is stored', () => {
    expect([...into('split'), ...into('ended')]).toEqual(['flushing flushed', 'draining flushed']);
  });

  it('the table of a supervisor hands nothing on that it has no stored position for, and reads on only what was taken', () => {
    expect(into('offering')).toEqual(['reading page']);
    expect(into('reading').toSorted()).toEqual(['anchoring anchored', 'idle due', 'offering taken']);
  });

  it('the table of a supervisor refuses what can’t be', () => {
    expect(() => nextState('idle', 'page')).toThrow("got the event 'page' in state 'idle'");
    expect(() => nextState('lost', 'due')).toThrow(expect.objectContaining({ code: 'impossible-transition' }) as Error);
  });
});
