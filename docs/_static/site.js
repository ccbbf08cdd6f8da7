// The search button is named by what it shows: "Search Ctrl+K", not "Search" alone.
document.addEventListener("DOMContentLoaded", () => {
  for (const button of document.querySelectorAll(".search-button-field")) {
    button.removeAttribute("aria-label");
  }
});
