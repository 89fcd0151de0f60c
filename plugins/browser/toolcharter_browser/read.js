// The visible text of the page as Markdown of a plain kind: headings, lists, links, fields; at most `most` characters.
(most) => {
  const BLOCKS = new Set(
    ["ADDRESS", "ARTICLE", "ASIDE", "BLOCKQUOTE", "BODY", "DD", "DIV", "DL", "DT", "FIELDSET", "FIGURE", "FOOTER", "FORM",
      "H1", "H2", "H3", "H4", "H5", "H6", "HEADER", "HR", "LI", "MAIN", "NAV", "OL", "P", "PRE", "SECTION", "TABLE", "TR",
      "UL"]);
  const SKIPPED = new Set(
    ["AUDIO", "CANVAS", "HEAD", "IFRAME", "NOSCRIPT", "OBJECT", "SCRIPT", "STYLE", "SVG", "TEMPLATE", "VIDEO"]);
  const pieces = [];
  let length = 0;
  const add = (text) => {
    if (length <= most) {
      pieces.push(text);
      length += text.length;
    }
  };
  const flat = (text) => (text || "").replace(/\s+/g, " ").trim();
  const nameOf = (field) =>
    flat(field.labels && field.labels.length ? field.labels[0].innerText : field.getAttribute("aria-label"))
    || field.placeholder || field.name || field.id || field.type;
  const leaf = (element) => {
    switch (element.tagName) {
      case "A": {
        const text = flat(element.innerText);
        if (text) add(element.href && /^https?:/.test(element.href) ? `[${text}](${element.href}) ` : `${text} `);
        return true;
      }
      case "BUTTON": add(`[button: ${flat(element.innerText) || nameOf(element)}] `); return true;
      case "IMG": if (element.alt) add(`[image: ${flat(element.alt)}] `); return true;
      case "INPUT":
        if (element.type === "hidden") return true;
        if (["submit", "button", "reset"].includes(element.type)) add(`[button: ${element.value || element.type}] `);
        else add(`[field: ${nameOf(element)}${element.type === "password" ? "" : ` = ${JSON.stringify(element.value)}`}] `);
        return true;
      case "SELECT": case "TEXTAREA":
        add(`[field: ${nameOf(element)} = ${JSON.stringify(element.value)}] `); return true;
      case "BR": add("\n"); return true;
      case "PRE": add(`\n\`\`\`\n${element.innerText}\n\`\`\`\n`); return true;
      default: return false;
    }
  };
  const walk = (node) => {
    for (const child of node.childNodes) {
      if (length > most) return;
      if (child.nodeType === Node.TEXT_NODE) {
        add(child.data.replace(/\s+/g, " "));
      } else if (child.nodeType === Node.ELEMENT_NODE && !SKIPPED.has(child.tagName.toUpperCase())
          && child.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !leaf(child)) {
        const block = BLOCKS.has(child.tagName);
        if (block) add("\n");
        if (/^H[1-6]$/.test(child.tagName)) add(`${"#".repeat(Number(child.tagName[1]))} `);
        if (child.tagName === "LI") add("- ");
        walk(child.shadowRoot || child);
        if (child.tagName === "TD" || child.tagName === "TH") add(" | ");
        if (block) add("\n");
      }
    }
  };
  if (document.body) walk(document.body);
  const text = pieces.join("").replace(/[ \t]+\n/g, "\n").replace(/\n[ \t]+/g, "\n").replace(/\n{3,}/g, "\n\n").trim();
  return { text: text.slice(0, most), truncated: text.length > most || length > most };
}
