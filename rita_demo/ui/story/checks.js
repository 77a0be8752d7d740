// What was computed after the answer: noise, and does the change survive.
let checks = null;
function showChecks() {
  const found = parsed("checks");
  checks = found && data && found.key === data.key ? found : null;
  layOut();
}

built.push(() => {
  const [survive, fold] = [checks?.survive, find(".survive")];
  fold.hidden = !survive && (checks || !data.last);
  find(".attack .shows").textContent = data.kind === fixed.detector.attack ? fixed.detector.says : "";
  const table = find("table", fold);
  if (!isNew(table, [data.key, !!survive])) return;
  table.replaceChildren();
  if (!survive) return void add(table.createTBody().insertRow(), "td", "This is being computed.");
  const head = table.createTHead().insertRow();
  const asked = data.answers.filter(({ name }) => survive[0].attacked[name]);
  for (const text of ["The attacked picture", ...asked.map((one) => one.title)]) add(head, "th", text).scope = "col";
  const body = table.createTBody();
  for (const { title, attacked, clean } of survive) {
    const row = body.insertRow();
    add(row, "th", title).scope = "row";
    for (const { name } of asked) {
      const [now, before] = [attacked[name], clean[name]];
      const td = add(row, "td", `${now.name} ${now.share.replace(" ", "\u00a0")}${now.right === null ? "" : now.right ? " ✓" : " ✗"}`, now.right === null ? "" : now.right ? "right" : "wrong");
      if (!before.same) add(td, "small", `the clean picture: ${before.name}`);
    }
  }
});
