// A drawer that is opened is written in at once; what was decided makes way for the next.

document.addEventListener("toggle", (event) => {
  if (!event.target.matches?.(".drawer[open]")) return;
  const field = event.target.querySelector("input:not([type=hidden]), textarea");
  field?.focus();
  field?.setSelectionRange(field.value.length, field.value.length);
}, true);

document.body.addEventListener("htmx:load", (event) => {
  if (document.activeElement !== document.body || !event.detail.elt.matches(".settled")) return;
  const items = [...document.querySelectorAll(".proposal")];
  const after = items.find((item) => event.detail.elt.compareDocumentPosition(item) & Node.DOCUMENT_POSITION_FOLLOWING);
  (after ?? items[0])?.focus();
});
