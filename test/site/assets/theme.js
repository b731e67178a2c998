// Runs before anything is drawn, so that the page does not flash: the theme that was chosen, else the system's.
try {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage is off: the system decides */ }
