// Runs before the first drawing, so that the page doesn't flash in the other theme.
const kept = localStorage.getItem('millrace-theme');
if (kept === 'light' || kept === 'dark') document.documentElement.dataset.theme = kept;
