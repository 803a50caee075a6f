// A classic script, so that a remembered theme is there before the first paint.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("tabgrad.theme");
  } catch {
    // Storage may be switched off: the system's theme is then the theme.
  }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
