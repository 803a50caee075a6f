"""What the page is audited for, as JavaScript: readable contrast, and a name on every control."""

# Contrast of every visible text with what lies behind it, as WCAG 2 defines it.
CONTRAST = """() => {
  const channel = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const paint = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (css) => {
    paint.clearRect(0, 0, 1, 1);
    paint.fillStyle = css;
    paint.fillRect(0, 0, 1, 1);
    return [...paint.getImageData(0, 0, 1, 1).data].map((v) => v / 255);
  };
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return [1, 1, 1, 1];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    const words = walk.currentNode.data.trim();
    if (!words || !element.checkVisibility()) continue;
    if (element.closest(":disabled, .unseen, option")) continue;
    const style = getComputedStyle(element);
    const svg = element instanceof SVGElement;
    const [a, b] = [light(rgba(svg ? style.fill : style.color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) found.push(`${words.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return found;
}"""

UNNAMED = """() => [...document.querySelectorAll("button, input, select, textarea, a[href]")]
  .filter((e) => e.checkVisibility() && !(e.getAttribute("aria-label") || e.textContent.trim()
    || e.labels?.[0]?.textContent.trim())).map((e) => e.outerHTML)"""
