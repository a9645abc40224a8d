"""What a browser shows of a page of the dashboard."""

#: Script that returns the contrast of each text and line with its background.
CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((each) => each / 255);
  };
  const luminance = (color) => {
    const [r, g, b] = color.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = rgba(getComputedStyle(each).backgroundColor);
      if (color[3] === 1) return color;
    }
    // The page has no colour of its own: it has that of the browser for its theme.
    const sample = document.body.appendChild(document.createElement("div"));
    sample.style.background = "Canvas";
    const color = rgba(getComputedStyle(sample).backgroundColor);
    sample.remove();
    return color;
  };
  const ratio = (front, back) => {
    const [high, low] = [luminance(front), luminance(back)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const found = [];
  const root = document.querySelector(".nicegui-content") ?? document.body;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const color = element.closest("svg") ? style.fill : style.color;
    found.push(["text", walker.currentNode.data.trim().slice(0, 40), ratio(rgba(color), background(element))]);
  }
  for (const element of document.querySelectorAll(".ac-series, .ac-flow, .ac-line path"))
    found.push(["line", element.className.baseVal, ratio(rgba(getComputedStyle(element).stroke), background(element))]);
  for (const element of document.querySelectorAll("input")) {
    const style = getComputedStyle(element);
    found.push(["line", "border of an input", ratio(rgba(style.borderColor), background(element.parentElement))]);
    const { color } = getComputedStyle(element, "::placeholder");
    found.push(["text", "placeholder", ratio(rgba(color), background(element))]);
  }
  return found;
}"""


def part(page, name):
    """Return a part of the page."""
    return page.locator(f'[data-test="{name}"]')


def rows(page, name):
    """Return the rows of a table, as texts by column; none if it has none."""
    return page.evaluate(
        """(name) => {
          const table = document.querySelector(`[data-test="${name}"] table`);
          // Without rows there is no table.
          if (!table) return [];
          const names = [...table.querySelectorAll("th button")].map((each) => each.firstChild.data);
          return [...table.querySelectorAll("tbody tr")].map((row) =>
            Object.fromEntries([...row.cells].map((cell, index) => [names[index], cell.innerText.trim()])));
        }""",
        name,
    )


def row_of(page, stream_id, kind):
    (found,) = [
        row for row in rows(page, "streams") if (row["stream"], row["kind"]) == (str(stream_id), kind)
    ]
    return found
