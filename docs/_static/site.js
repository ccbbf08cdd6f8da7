document.addEventListener("DOMContentLoaded", () => {
  // The search button is named by what it shows: "Search Ctrl+K", not "Search" alone.
  for (const button of document.querySelectorAll(".search-button-field")) {
    button.removeAttribute("aria-label");
  }
  for (const block of document.querySelectorAll(".bd-article div[class*='highlight-']")) {
    addCopyButton(block);
  }
});

// What one would type: of lines with prompts what follows these, without what was printed.
function typed(text) {
  for (const prompt of [/^(?:>>>|\.\.\.)(?: |$)/, /^\$ /]) {
    const lines = text.split("\n");
    if (!prompt.test(lines[0])) continue;
    const continued = (k) => k > 0 && lines[k - 1].endsWith("\\");
    return lines
      .filter((line, k) => prompt.test(line) || continued(k))
      .map((line) => line.replace(prompt, ""))
      .join("\n");
  }
  return text.trimEnd();
}

// A button at the end of every block of code; what is printed or set off has none.
function addCopyButton(block) {
  const pre = block.querySelector("pre");
  const code = /\bhighlight-(?!none|text|default)/.test(block.className);
  if (!pre || !(code || /^>>> /.test(pre.textContent))) return;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.title = "Copy this code";
  const said = document.createElement("span");
  said.className = "visually-hidden";
  said.setAttribute("role", "status");
  button.addEventListener("click", async () => {
    const done = await copy(typed(pre.textContent)).catch(() => false);
    button.textContent = said.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => {
      button.textContent = "Copy";
      said.textContent = "";
    }, 2000);
  });
  block.classList.add("copyable");
  block.append(button, said);
}

async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return true;
  }
  const area = document.createElement("textarea"); // for pages that come without encryption
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
