// A chat template in the tab, rendered by Hugging Face's own Jinja. It reads what it is given and
// nothing else: the language has no way out to JavaScript, so this is a sandbox.

const LIBRARY = new URL("../vendor/huggingface-jinja/jinja.js", import.meta.url);

/**
 * Reads a Jinja template.
 * @param {string} source
 * @returns {Promise<TabTemplate>}
 */
export async function openTemplate(source) {
  const { Template } = /** @type {typeof import("@huggingface/jinja")} */ (
    await import(LIBRARY.href));
  return new TabTemplate(new Template(source));
}

export class TabTemplate {
  /** @param {import("@huggingface/jinja").Template} template */
  constructor(template) {
    this.template = template;
  }

  /** @param {string} variables as JSON */
  render(variables) {
    return this.template.render(JSON.parse(variables));
  }
}
