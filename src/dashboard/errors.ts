import { type ErrorCatalogue, errorsOf, usage } from '../base/error-catalogue.ts';

export const SET_TOKEN =
  'Set MILLRACE_DASHBOARD_TOKEN to at least 16 random characters, or leave MILLRACE_DASHBOARD_ADDRESS out.';

export const DASHBOARD_ERRORS = {
  'dashboard-full': {
    meaning: 'As many browsers as the dashboard serves read its stream already.',
    hint: 'Close dashboards that are not in use.',
    retryable: true,
  },
  'dashboard-starting': {
    meaning: 'The dashboard runs, and what it shows is still being opened.',
    hint: 'Wait: the page asks again by itself.',
    retryable: true,
  },
  'request-foreign': usage(
    'A request did not come from a page of the dashboard itself, or names another host.',
    'Open the dashboard at the address that it printed.',
  ),
  'request-malformed': usage(
    'The dashboard received a request that its pages do not send.',
    'Reload the page: it may be of an earlier version.',
  ),
  'sign-in-missing': usage(
    'The dashboard needs a token, and the browser is not signed in, or not any more.',
    'Sign in with the value of MILLRACE_DASHBOARD_TOKEN or MILLRACE_DASHBOARD_READER_TOKEN.',
  ),
  'operator-missing': usage(
    'A reader of the dashboard asked for an operation that changes something.',
    'Sign in with the token of an operator.',
  ),
  'run-underway': usage(
    'The same operation with the same input runs already, started from this dashboard.',
    'Wait for its end: the page Operations shows it.',
  ),
} as const satisfies ErrorCatalogue;
export const dashboardError = errorsOf(DASHBOARD_ERRORS);
